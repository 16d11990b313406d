// Small charts, drawn as SVG: lines over time and bars. A chart says in words what it shows.

import { h, s } from "./dom.js";

const WIDTH = 420, HEIGHT = 150, LEFT = 44, RIGHT = 8, TOP = 8, BOTTOM = 20;

/** Round numbers up to at least the greatest value; counts have no tenths. */
function scale(greatest, least = 0) {
  if (!(greatest > 0)) return { top: 1, step: Math.max(0.5, least) };
  const power = 10 ** Math.floor(Math.log10(greatest));
  const step = Math.max(least, [0.2, 0.5, 1, 2, 5].map((m) => m * power).find((step) => greatest / step <= 4) ?? 5 * power);
  return { top: Math.ceil(greatest / step) * step, step };
}

const y = (value, top) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);

function frame(top, step, show, label) {
  const svg = s("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  for (let value = 0; value <= top * 1.0001; value += step) {
    svg.append(s("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value, top), y2: y(value, top) }),
      s("text", { x: LEFT - 6, y: y(value, top) + 4, "text-anchor": "end" }, show(value)));
  }
  return svg;
}

/** A card with lines: `series` is a list of [name, sample → number or null]. */
export function lines(title, samples, series, show, from = 0) {
  const values = samples.flatMap((sample) => series.map(([, value]) => value(sample))).filter((value) => value !== null);
  const { top, step } = scale(Math.max(from, ...values));
  const last = series.map(([, value]) => samples.map(value).filter((v) => v !== null).at(-1));
  const summary = last.map((value, i) => `${series.length > 1 ? `${series[i][0]} ` : ""}${value === undefined ? "none yet" : show(value)}`).join(", ");
  const seconds = (sample) => Date.parse(sample.time) / 1000;
  const [first, end] = samples.length ? [seconds(samples[0]), seconds(samples.at(-1))] : [0, 1];
  const x = (time) => LEFT + (WIDTH - LEFT - RIGHT) * (end > first ? (time - first) / (end - first) : 1);
  const svg = frame(top, step, show, `${title}: ${summary}; from ${minutes(end - first)} ago until now`);
  series.forEach(([, value], i) => {
    // A gap in the numbers is a gap in the line.
    let path = "", open = false;
    for (const sample of samples) {
      const v = value(sample);
      if (v === null) { open = false; continue; }
      path += `${open ? "L" : "M"}${x(seconds(sample)).toFixed(1)} ${y(v, top).toFixed(1)}`;
      if (!open && samples.length < 3) path += "h1";
      open = true;
    }
    svg.append(s("path", { class: `line s${i + 1}`, d: path }));
  });
  svg.append(s("text", { x: LEFT, y: HEIGHT - 5 }, `${minutes(end - first)} ago`), s("text", { x: WIDTH - RIGHT, y: HEIGHT - 5, "text-anchor": "end" }, "now"));
  const shown = series.length > 1 ? last.map((value) => (value === undefined ? "none" : show(value))).join(" · ") : summary;
  return card(title, shown, svg, series.length > 1 ? series.map(([name], i) => h("span", { class: "key" }, h("i", { class: `k${i + 1}` }), name)) : null);
}

/** A card with bars: `list` holds pairs of a name and a count. */
export function bars(title, list, show, summary) {
  const { top, step } = scale(Math.max(...list.map(([, value]) => value)), 1);
  const svg = frame(top, step, show, `${title}: ${list.map(([name, value]) => `${name} ${show(value)}`).join(", ")}`);
  const each = (WIDTH - LEFT - RIGHT) / list.length;
  list.forEach(([name, value], i) => {
    const from = LEFT + i * each;
    svg.append(s("rect", { class: "f1", x: from + each * 0.12, width: each * 0.76, y: y(value, top), height: Math.max(0, y(0, top) - y(value, top)), rx: 2 },
      s("title", {}, `${name}: ${show(value)}`)));
    svg.append(s("text", { x: from + each / 2, y: HEIGHT - 5, "text-anchor": "middle" }, name));
  });
  return card(title, summary ?? "", svg, null);
}

function card(title, summary, svg, keys) {
  return h("section", { class: "card" }, h("div", { class: "chart-head" }, h("h2", {}, title), h("output", {}, summary)), svg, keys && h("div", {}, keys));
}

function minutes(seconds) {
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}
