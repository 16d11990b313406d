// Overview: what there is and what happens, as charts that move. Settings: what it runs with.

import { announce, bytes, count, failure, h, percent } from "./dom.js";
import { get, token } from "./api.js";
import { bars, lines } from "./chart.js";

const EVERY = 2000;

export async function overview(place) {
  const tiles = h("div", { class: "tiles" });
  const charts = h("div", { class: "grid charts" });
  const trouble = h("div", {});
  place.append(h("h1", {}, "Overview"), trouble, tiles, charts);
  let samples = [];
  let timer = null;
  let left = false;
  const update = async () => {
    try {
      const stats = await get(`/v1/stats?since=${samples.at(-1)?.time ?? 0}`);
      if (left) return;
      samples = samples.concat(stats.history).slice(-1800);
      trouble.replaceChildren();
      tiles.replaceChildren(...numbers(stats));
      charts.replaceChildren(...drawn(stats, samples));
    } catch (error) {
      // The last picture stays, with what is wrong above it.
      trouble.replaceChildren(failure(error));
    }
    if (!left) timer = setTimeout(update, EVERY);
  };
  await update();
  announce("Overview, updated every two seconds");
  return () => { left = true; clearTimeout(timer); };
}

function numbers(stats) {
  const duplicates = stats.pages_with_content ? (stats.pages_with_content - stats.groups) / stats.pages_with_content : 0;
  const tile = (value, name) => h("div", { class: "tile" }, h("b", {}, value), h("span", {}, name));
  return [tile(count(stats.pages), "pages"), tile(count(stats.groups), "groups"), tile(percent(Math.max(0, duplicates)), "duplicates"),
    tile(count(stats.events), "changes"), tile(count(stats.commits), "commits"), tile(bytes(stats.index_bytes), "index in memory"), tile(bytes(stats.file_bytes), "on disk")];
}

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const compact = (value) => short.format(value);
const share = (value) => `${+(value * 100).toFixed(1)} %`;
const milliseconds = (value) => `${+value.toPrecision(2)} ms`;

function drawn(stats, samples) {
  const { kinds, tiers, distances } = stats.judged;
  const judged = Object.values(kinds).reduce((a, b) => a + b, 0);
  const placed = tiers.winner + tiers.index;
  const list = [];
  if (samples.length) {
    list.push(lines("Pages", samples, [["pages", (x) => x.pages]], compact),
      lines("Duplicate share", samples, [["share", (x) => x.duplicates]], share),
      lines("Throughput, a second", samples, [["pages", (x) => x.judged], ["requests", (x) => x.requests]], compact),
      lines("Latency", samples, [["half within", (x) => x.p50], ["99 % within", (x) => x.p99]], milliseconds),
      lines("Tier 1 share", samples, [["share", (x) => x.tier_1]], share, 1));
  } else {
    list.push(h("p", { class: "notice" }, "The first numbers come a few seconds after the start."));
  }
  if (judged) {
    list.push(bars("Verdicts since the start", ["new", "exact", "near", "related", "redirect"].map((kind) => [kind, kinds[kind]]), compact, compact(judged)),
      bars("Distance to the winner", distances.slice(0, 13).map((n, d) => [String(d), n]), compact, placed ? `tier 1: ${share(tiers.winner / placed)}` : ""));
  } else {
    list.push(h("p", { class: "notice" }, "No page has been judged since the start."));
  }
  if (stats.groups_by_doubling.length) {
    list.push(bars("Groups by size", stats.groups_by_doubling.map((n, i) => [i ? `${2 ** i}+` : "1", n]), compact, compact(stats.groups)));
  }
  return list;
}

export async function settings(place) {
  const input = h("input", { type: "password", id: "token", value: token.get(), autocomplete: "off" });
  const said = h("p", { class: "hint", role: "status" });
  place.append(h("h1", {}, "Settings"),
    h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); token.set(input.value.trim()); said.textContent = input.value ? "Used until this tab is closed." : "Forgotten."; location.reload(); } },
      h("label", { for: "token" }, "Token"), h("div", { class: "row" }, input, h("button", { type: "submit" }, "Use")),
      h("p", { class: "hint" }, "Needed only where the service has tokens. It stays in this tab."), said));
  try {
    const shown = await get("/v1/settings");
    const { recipe, ...rest } = shown;
    place.append(card("Recipe: how a page becomes a fingerprint", recipe), card("Repository and service", rest),
      h("p", {}, h("a", { href: "/openapi.json" }, "The API's description"), " · ", h("a", { href: "/metrics" }, "Metrics")));
  } catch (error) {
    place.append(failure(error));
  }
}

function card(title, values) {
  const word = (value) => (value === null ? "none" : value === true ? "yes" : value === false ? "no" : typeof value === "number" ? count(value) : value);
  return h("section", { class: "card" }, h("h2", {}, title),
    h("dl", {}, Object.entries(values).map(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, word(value))])));
}
