// Settings: the token of this tab, and what the service runs with.

import { bytes, count, failure, h, plural } from "./dom.js";
import { settings as ask, token } from "./api.js";

/** Names that say what a setting means; other settings show their field's name. */
const NAMES = {
  id: "recipe", extent: "text used", shingle: "words per feature", weighting: "weight of a feature", min_word_chars: "shortest word (characters)", sketch_shingle: "words per passage of the sketch",
  min_features: "fewest features of a page that is compared", within: "largest distance of near-duplicates", min_similarity: "smallest similarity of near-duplicates",
  rules: "rules that choose the kept page", markets: "markets with rules of their own", scope: "pages are compared within", confirm: "near-duplicates on other domains need", frames: "pages that share the frame of a host", repair_share: "a group is split when more than this share does not match its kept page", texts_kept: "texts are kept for comparisons", fetching: "fetches pages by address",
  tokens_needed: "access needs a token", body_bytes: "largest request", rows: "most rows in an answer", search_index: "serves a search index",
};
const VALUES = { confirm: (by) => (by === "keyed" ? "their texts" : "their signatures"), frames: (frames) => (frames === "on" ? "compared beyond it, too" : "compared as whole pages"), within: (bits) => plural(bits, "bit"), body_bytes: bytes, scope: (scope) => (scope === "none" ? "the whole repository" : scope) };

export async function settings(place) {
  const input = h("input", { type: "password", id: "token", value: token.get(), autocomplete: "off" });
  place.append(h("h1", {}, "Settings"),
    h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); token.set(input.value.trim()); location.reload(); } },
      h("label", { for: "token" }, "Token"), h("div", { class: "line" }, input, h("button", { type: "submit" }, "Use")),
      h("p", { class: "hint" }, token.get() ? "A token is in use until this tab is closed. Use an empty one to forget it." : "Only needed if the service requires tokens. It is forgotten when this tab is closed.")));
  try {
    const { recipe, ...rest } = await ask();
    place.append(card("Recipe: how a page becomes a fingerprint", recipe), card("Repository and service", rest),
      h("p", {}, h("a", { href: "/openapi.json" }, "Description of the API"), " · ", h("a", { href: "/metrics" }, "Metrics for Prometheus")));
  } catch (error) {
    place.append(failure(error));
  }
}

function card(title, values) {
  return h("section", { class: "card" }, h("h2", {}, title), list(Object.entries(values).map(([name, value]) => [NAMES[name] ?? name.replaceAll("_", " "), VALUES[name]?.(value) ?? shown(value)])));
}

function list(entries) {
  return h("dl", {}, entries.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function shown(value) {
  if (value === null || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return count(value);
  if (Array.isArray(value)) return value.length ? value.map(shown).join(", ") : "none";
  if (typeof value !== "object") return String(value);
  const entries = Object.entries(value);
  return entries.length ? list(entries.map(([name, inner]) => [name, shown(inner)])) : "none";
}
