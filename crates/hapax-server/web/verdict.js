// What the service answers about a page, and the page it duplicates next to it.

import { address, announce, count, failure, h, percent, plural, table } from "./dom.js";
import { post } from "./api.js";
import { pairView } from "./pair.js";

/** Name, and a sentence; one that ends in a colon is followed by the other page. */
const VERDICTS = {
  new: ["New", "This page was not recorded before, and no recorded page is a copy of it."],
  unchanged: ["Known, unchanged", "This address is recorded with the same text, and no other recorded page is a copy of it."],
  changed: ["Known, changed", "This address is recorded with a different text, and no other recorded page is a copy of it."],
  unique: ["Known, unique", "This page is recorded, and no other recorded page is a copy of it."],
  exact: ["Exact duplicate", "It has the same text as:"],
  near: ["Near-duplicate", "It has nearly the same text as:"],
  related: ["Related", "It is similar to a page of this group, but not similar enough to the page that the group keeps:"],
  redirect: ["Redirect", "It redirects to:"],
  cycle: ["Redirect loop", "Its redirects lead back to itself, so there is no text to compare."],
  empty: ["No text", "The page has no words to compare."],
  awaited: ["Never fetched", "Other pages redirect to this address, but its content is not recorded."],
};

const SEEN = {
  first: "not recorded before",
  unchanged: "recorded before, with the same text",
  changed: "recorded before, with a different text",
};

/** `side` is the page as `POST /v1/compare` takes it; `nameless` if it has no address of its own. */
export function verdictCard(verdict, side, nameless) {
  const [name, sentence] = VERDICTS[verdict.verdict] ?? [verdict.verdict, ""];
  const { alike, nearest } = verdict;
  const other = verdict.winner !== verdict.url ? verdict.winner : verdict.matches[0]?.url;
  const named = sentence.endsWith(":") && other;
  const figure = alike ? [percent(alike.similarity, alike.exact), alike.exact ? "same text" : "similar (estimated)"]
    : nearest ? [percent(nearest.similarity), "similar to the nearest page (estimated)"] : null;
  announce(`${name}. ${sentence} ${named ? other : ""}`);
  const pair = h("div", {});
  const load = async (url) => {
    pair.replaceChildren(h("p", { class: "hint" }, "Comparing…"));
    try {
      pair.replaceChildren(pairView(await post("/v1/compare", { left: { url }, right: side }), nameless ? null : verdict.url));
    } catch (error) {
      pair.replaceChildren(failure(error));
    }
  };
  const sideBySide = (url) => h("button", { type: "button", class: "quiet", onclick: () => load(url) }, "Side by side");
  const fact = (term, ...value) => [h("dt", {}, term), h("dd", {}, ...value)];
  const card = h("section", { class: "card", "aria-label": "Verdict" },
    h("div", { class: "verdict" },
      figure && h("div", { class: `figure kind-${verdict.verdict}` }, figure[0], h("small", {}, figure[1])),
      h("div", { class: figure ? null : "whole" }, h("h2", { class: `kind-${verdict.verdict}` }, name),
        h("p", {}, sentence.replace(/:$/, named ? ":" : " another page."), named ? [" ", address(other)] : null),
        nearest === null && !alike && comparable(verdict) && h("p", {}, "Nothing like it is known."),
        verdict.reason && !nameless && h("p", { class: "hint" }, `${verdict.winner === verdict.url ? "This page is kept" : "The other page is kept"}: ${verdict.reason.text}`))),
    h("dl", {},
      !nameless && verdict.seen in SEEN && fact("This address", SEEN[verdict.seen]),
      alike && fact("Fingerprints", `${plural(alike.distance, "bit")} of 64 ${alike.distance === 1 ? "differs" : "differ"}`),
      nearest && !alike && fact("Nearest known page", address(nearest.url), ` (${plural(nearest.distance, "bit")} of 64 ${nearest.distance === 1 ? "differs" : "differ"}) `, sideBySide(nearest.url)),
      verdict.group !== null && fact("Group", h("a", { href: `#/groups/${verdict.group}` }, `Group ${verdict.group}`)),
      fact("Recorded", verdict.recorded ? "yes" : "no, only checked"),
      verdict.redirects?.length > 0 && fact("Redirects", verdict.redirects.map((hop) => h("div", {}, `${hop.from} → ${hop.to}`)))));
  if (verdict.matches.length) {
    card.append(h("h2", {}, `${plural(verdict.found, "similar page")}${verdict.found > verdict.matches.length ? `, the nearest ${count(verdict.matches.length)} shown` : ""}`),
      table("Similar pages", [{ name: "Page" }, { name: "Similarity (estimated)", number: true }, { name: "Distance (bits)", number: true }, { name: "" }],
        verdict.matches.map((match) => h("tr", {}, h("td", { class: "url" }, address(match.url)),
          h("td", { class: "number" }, percent(match.similarity, match.exact)), h("td", { class: "number" }, count(match.distance)),
          h("td", {}, sideBySide(match.url))))));
  }
  if (other && alike) load(other);
  return h("div", {}, card, pair);
}

/** Does the page have a text that can be like another's? */
const comparable = (verdict) => !["redirect", "cycle", "empty", "awaited"].includes(verdict.verdict);
