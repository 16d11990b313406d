// Two pages compared, as `hapax compare --html` shows them: numbers, the 64 bits, texts side by side.

import { announce, count, h, percent, plural, s } from "./dom.js";
import { sideBySide } from "./side_by_side.js";

/** Shared passages are folded to about this many characters, if that hides enough. */
const FOLDED = 240, WORTH_FOLDING = 120;

/** `given` is the address of the second page, where its content was sent instead. */
export function pairView(compared, given = null) {
  const { left, rows } = compared;
  const right = { ...compared.right, url: compared.right.url ?? given };
  const sentence = summary(compared);
  announce(sentence);
  const section = h("section", { class: "comparison", "aria-label": "Side by side" },
    h("h2", {}, sentence),
    h("div", { class: "pages" }, pageCard("A", left), pageCard("B", right)),
    numbers(compared), bits(compared));
  if (!rows) {
    const missing = [left, right].filter((side) => !side.text_kept).map((side) => side.url);
    section.append(h("p", { class: "notice" }, `The service does not keep the text of ${missing.join(" and ")}, so only the fingerprints are compared.`));
    return section;
  }
  const texts = h("section", { class: "texts" },
    h("div", { class: "bar" }, h("h2", {}, "Side by side"),
      h("ul", { class: "legend" }, h("li", {}, h("span", { class: "only-a" }, "only in A")), h("li", {}, h("span", { class: "only-b" }, "only in B")),
        h("li", {}, h("span", { class: "moved" }, "in both, elsewhere"))),
      h("div", { class: "tools" }, h("label", {}, h("input", { type: "checkbox", class: "all" }), " all shared text"),
        h("button", { type: "button", class: "previous quiet", "aria-label": "previous difference" }, "↑"), h("button", { type: "button", class: "next quiet" }, "↓ difference"))),
    h("div", { class: "rows" }, rows.map(row)));
  section.append(texts);
  sideBySide(texts);
  return section;
}

function summary({ same_text, exact, similarity }) {
  if (same_text) return "Both pages have exactly the same text.";
  if (exact && similarity !== null) {
    if (exact.jaccard >= 1) return "Both pages have the same passages, in another order or number.";
    return exact.shared ? `${percent(exact.jaccard)} of all runs of ${plural(exact.shingle, "word")} are in both pages.` : "The pages share no passage.";
  }
  return similarity === null ? "A page without words cannot be compared." : `The pages are about ${percent(similarity)} similar, estimated from their sketches.`;
}

function pageCard(letter, side) {
  const name = side.url ?? (side.title || "the text you gave");
  return h("div", { class: `page ${letter.toLowerCase()}` }, h("p", { class: "name" }, h("b", {}, letter), ` ${name}`),
    side.url && side.title && h("p", { class: "title", dir: "auto" }, side.title),
    h("p", { class: "facts" }, side.words !== null && plural(side.words, "word"), side.fingerprint ? [" · fingerprint ", h("code", {}, side.fingerprint)] : " · no fingerprint: the page has no words"));
}

function numbers({ distance, similarity, standard_error, exact }) {
  const tile = (value, name, meaning) => h("div", {}, h("strong", {}, value), h("h3", {}, name), h("p", {}, meaning));
  const digits = (value) => value.toFixed(3);
  const list = [
    distance !== null && tile(`${distance} of 64`, distance === 1 ? "bit differs" : "bits differ", "Hamming distance of the fingerprints. Similar pages differ in few bits."),
    similarity !== null && tile([digits(similarity), standard_error !== undefined && standard_error !== null && h("small", {}, ` ± ${digits(standard_error)}`)], "estimated similarity", "Jaccard similarity estimated from a sketch of 128 bytes per page."),
    exact && tile(digits(exact.jaccard), "exact Jaccard similarity", `Share of all runs of ${plural(exact.shingle, "word")} that both pages have: ${count(exact.shared)} shared, ${count(exact.only_left)} only in A, ${count(exact.only_right)} only in B.`),
    exact && tile(digits(exact.containment), "containment", "Share of the smaller page that is also in the other."),
    exact && tile(digits(exact.cosine), "cosine", "Similarity of the weighted words that the fingerprints are made of."),
  ].filter(Boolean);
  return list.length > 0 && h("section", { class: "numbers" }, list);
}

const COLUMN = 14, WIDTH = 64 * COLUMN, BAR = 52, HEIGHT = 282, AXES = { a: 56, b: 226 }, DIGITS = { a: 132, b: 158 };

/** Bit 63 on the left, as a fingerprint is written; bars up for ones, as long as the bit is strong. */
function bits({ sums, left, right }) {
  if (!sums) return null;
  const svg = s("svg", { class: "bits", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "The 64 bits of both fingerprints and their strength" });
  const of = (fingerprint, bit) => Number(BigInt(`0x${fingerprint}`) >> BigInt(bit) & 1n);
  const at = (bit) => (63 - bit) * COLUMN;
  const all = Array.from({ length: 64 }, (_, bit) => bit);
  const differing = all.filter((bit) => of(left.fingerprint, bit) !== of(right.fingerprint, bit));
  svg.append(...differing.map((bit) => s("rect", { class: "band", x: at(bit), y: 0, width: COLUMN, height: HEIGHT })));
  for (const [name, values, { fingerprint }] of [["a", sums.left, left], ["b", sums.right, right]]) {
    const greatest = Math.max(1, ...values.map(Math.abs));
    svg.append(s("line", { class: "axis", x1: 0, x2: WIDTH, y1: AXES[name], y2: AXES[name] }),
      ...all.map((bit) => {
        const height = Math.max(BAR * Math.abs(values[bit]) / greatest, 1.5);
        return s("rect", { class: name, x: at(bit) + 2, width: COLUMN - 4, y: AXES[name] - (of(fingerprint, bit) ? height : 0), height });
      }),
      ...[...fingerprint].map((digit, i) => s("text", { class: differing.some((bit) => bit >> 2 === 15 - i) ? `${name} changed` : name, x: (4 * i + 2) * COLUMN, y: DIGITS[name] }, digit)));
  }
  svg.append(...all.map((bit) => s("rect", { class: "hit", x: at(bit), y: 0, width: COLUMN, height: HEIGHT }, s("title", {}, `bit ${bit}: A ${sums.left[bit]}, B ${sums.right[bit]}`))));
  return h("details", { class: "card" }, h("summary", {}, "The 64 bits of both fingerprints"), svg,
    h("p", { class: "hint" }, "A above, B below. A bar points up for a 1 and down for a 0; the longer, the stronger. Differing bits have a band: short bars there mean that little text changed them."));
}

function row(row) {
  if (row.same !== undefined) {
    return h("div", { class: "row same" }, h("div", { class: "a", dir: "auto" }, folded(row.same)), h("div", { class: "b", dir: "auto" }, folded(row.same_right ?? row.same)));
  }
  const side = (pieces, name) => h("div", { class: pieces.length ? name : `${name} empty`, dir: "auto" }, pieces.map((it) => piece(it, name)));
  return h("div", { class: "row differs" }, side(row.left, "a"), side(row.right, "b"));
}

function piece({ text, mark, moved }, name) {
  if (mark === "between") return text;
  if (mark === "only") return h("span", { class: `only-${name}` }, text);
  return h("span", { class: "moved", ...(moved === null ? {} : { tabindex: "0", "data-stretch": moved }) }, text);
}

function folded(text) {
  if (text.length <= FOLDED + WORTH_FOLDING) return text;
  // Between words, where there are spaces.
  const [head, tail] = [FOLDED / 2, text.length - FOLDED / 2];
  const before = text.lastIndexOf(" ", head), after = text.indexOf(" ", tail);
  const from = before < 0 ? head : before, to = after < 0 ? tail : after + 1;
  return [text.slice(0, from), h("span", { class: "middle" }, text.slice(from, to)),
    h("button", { type: "button", class: "fold" }, `… ${plural(to - from, "character")} …`), text.slice(to)];
}
