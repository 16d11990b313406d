// Two texts side by side: what they share once across, what differs in two columns.

import { announce, count, h, percent } from "./dom.js";

/** Shared passages longer than this are shown by their beginning and end, until opened. */
const LONG = 700, KEPT = 250;

export function pairView(compared) {
  const { exact, rows } = compared;
  const sentence = compared.same_text ? "Both show exactly the same text."
    : exact ? `${percent(exact.jaccard)} of all runs of ${exact.shingle} words are in both: ${count(exact.shared)} shared, ${count(exact.only_left)} only left, ${count(exact.only_right)} only right.`
    : compared.similarity !== null ? `About ${percent(compared.similarity)} of the passages are alike, by their sketches.`
    : "A page without words cannot be compared.";
  announce(sentence);
  const card = h("section", { class: "card", "aria-label": "Side by side" },
    h("h2", {}, "Side by side"), h("p", {}, sentence),
    compared.distance !== null && h("p", { class: "hint" },
      `Fingerprints: distance ${compared.distance} of 64, ${compared.percent.toFixed(1)} % of the bits agree.`,
      compared.differing_bits.length > 0 && ` Differing bits: ${compared.differing_bits.map((bit) => bit.bit).join(", ")}.`));
  if (!rows) {
    const missing = [compared.left, compared.right].filter((side) => !side.text_kept).map((side) => side.url);
    card.append(h("p", { class: "notice" }, `The text of ${missing.join(" and ")} is not kept, so only the fingerprints can be compared.`));
    return card;
  }
  const head = (side, name) => h("div", { class: `head ${name}` }, side.title || side.url || "what you gave", h("span", { class: "hint" }, ` ${count(side.words ?? 0)} words`));
  card.append(
    h("p", { class: "legend" }, h("span", {}, h("mark", {}, "marked"), " only on this side"), h("span", {}, h("mark", { class: "moved" }, "dotted"), " on the other side too, but elsewhere")),
    h("div", { class: "pair" }, head(compared.left, "left"), head(compared.right, "right"), rows.map(row)));
  return card;
}

function row(row) {
  if (row.same !== undefined) return h("div", { class: "same" }, shortened(row.same));
  const side = (pieces, name) => h("div", { class: name }, pieces.length ? pieces.map(piece) : h("span", { class: "none" }, "nothing"));
  return [side(row.left, "left"), side(row.right, "right")];
}

function piece({ text, mark, moved }) {
  if (mark === "between") return text;
  if (mark === "elsewhere") return h("mark", { class: "moved", title: moved === null ? "elsewhere on the other side" : `moved passage ${moved + 1}` }, text);
  return h("mark", {}, text);
}

function shortened(text) {
  if (text.length <= LONG) return text;
  // Between words.
  const from = text.indexOf(" ", KEPT) + 1 || KEPT, to = text.lastIndexOf(" ", text.length - KEPT);
  if (to <= from) return text;
  const button = h("button", { type: "button", class: "quiet", onclick: () => button.replaceWith(text.slice(from, to)) },
    `… ${count(to - from)} more characters that are the same …`);
  return [text.slice(0, from), button, text.slice(to)];
}
