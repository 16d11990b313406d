// Overview, for operators: how much is stored and what the service does, updated as it runs.
// What has no data yet is not shown.

import { announce, bytes, count, failure, h, percent, plural } from "./dom.js";
import { get } from "./api.js";
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
      const stats = await get(`/v1/stats?since=${encodeURIComponent(samples.at(-1)?.time ?? 0)}`);
      if (left) return;
      samples = samples.concat(stats.history).slice(-1800);
      trouble.replaceChildren();
      tiles.replaceChildren(...numbers(stats));
      charts.replaceChildren(...drawn(stats, samples));
    } catch (error) {
      // The last charts stay, below the error.
      trouble.replaceChildren(failure(error));
    }
    if (!left) timer = setTimeout(update, EVERY);
  };
  await update();
  announce("Overview, updated every two seconds");
  return () => { left = true; clearTimeout(timer); };
}

function numbers(stats) {
  const { pages_with_content: pages, groups } = stats;
  const duplicates = Math.max(0, pages - groups);
  const tile = (value, name, title) => h("div", { class: "tile", title }, h("b", {}, value), h("span", {}, name));
  return [
    tile(count(stats.pages), "pages recorded", "all known addresses, with redirects and pages without text"),
    pages > 0 && tile(count(groups), "pages kept", "pages with text that are not a duplicate of another: one per group"),
    duplicates > 0 && tile(`${count(duplicates)} (${percent(duplicates / pages)})`, "duplicates", "pages with text that another page of their group stands for"),
    stats.events > 0 && tile(count(stats.events), "change events"),
    tile(duration(stats.uptime_seconds), "uptime"),
    stats.index_bytes > 0 && tile(bytes(stats.index_bytes), "memory used by the index"),
    tile(bytes(stats.file_bytes), "disk space"),
  ].filter(Boolean);
}

function duration(seconds) {
  if (seconds >= 2 * 86400) return plural(Math.floor(seconds / 86400), "day");
  const [unit, length] = [["h", 3600], ["min", 60]].find(([, length]) => seconds >= length) ?? ["s", 1];
  return `${count(Math.floor(seconds / length))} ${unit}`;
}

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const compact = (value) => short.format(value);
const share = (value) => `${+(value * 100).toFixed(1)} %`;
const milliseconds = (value) => `${+value.toPrecision(2)} ms`;

const VERDICTS = {
  new: "new", unchanged: "unchanged", changed: "changed", unique: "unique", exact: "exact duplicate", near: "near-duplicate", related: "related",
  redirect: "redirect", cycle: "redirect loop", empty: "no text", awaited: "never fetched",
};

function drawn(stats, samples) {
  if (!stats.pages && !Object.values(stats.checked.verdicts).some(Boolean)) {
    return [h("p", { class: "notice" }, "Nothing is recorded yet. ", h("a", { href: "#/check" }, "Check and record a page"), ", or send pages to ", h("code", {}, "POST /v1/pages"), "; charts appear here.")];
  }
  const { verdicts: kinds, distances } = stats.checked;
  const has = (value) => samples.some((sample) => value(sample) > 0);
  const series = (title, list, show, from) => list.some(([, value]) => has(value)) && lines(title, samples, list, show, from);
  const known = new Set([...Object.keys(VERDICTS), ...Object.keys(kinds)]);
  const verdicts = [...known].map((kind) => [VERDICTS[kind] ?? kind, kinds[kind] ?? 0]).filter(([, n]) => n > 0);
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const last = distances.findLastIndex((n) => n > 0);
  const groups = stats.groups_by_doubling;
  const list = [
    series("Pages with text", [["pages", (x) => x.pages]], compact),
    series("Duplicate rate", [["share of pages", (x) => x.duplicates]], share),
    series("Throughput per second", [["pages checked", (x) => x.checked], ["requests", (x) => x.requests]], compact),
    series("Request latency", [["median", (x) => x.p50], ["99th percentile", (x) => x.p99]], milliseconds),
    series("Recorded without an index search", [["share of pages", (x) => x.tier_1]], share, 1),
    verdicts.length > 0 && bars("Verdicts since the start", verdicts, compact, plural(sum(verdicts.map(([, n]) => n)), "page")),
    last >= 0 && bars("Distance to the kept page (bits)", distances.slice(0, last + 1).map((n, bits) => [String(bits), n]), compact, plural(sum(distances), "page")),
    groups.some((n, i) => i > 0 && n > 0) && bars("Groups by number of pages", groups.map((n, i) => [i ? `${2 ** i}–${2 ** (i + 1) - 1}` : "1", n]), compact, plural(stats.groups, "group")),
  ].filter(Boolean);
  if (!samples.length) list.unshift(h("p", { class: "notice" }, "Charts over time appear a few seconds after the start."));
  return list;
}
