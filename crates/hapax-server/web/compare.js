// Compare: any two pages, recorded or not, side by side.

import { failure, h } from "./dom.js";
import { addresses, firstOf, get, post } from "./api.js";
import { fileButton, takeDrops } from "./file.js";
import { pairView } from "./pair.js";

const KINDS = { url: "Address", html: "HTML", text: "Text" };

/** Two versions of a page: words that differ, words on one side only, a passage that moved. */
const EXAMPLE = {
  left: `Tea: a short introduction
Tea is an aromatic drink prepared by pouring hot water over the cured leaves of Camellia sinensis, an evergreen shrub native to East Asia. After plain water, it is the most widely consumed drink in the world. There are many kinds of tea; some have a cooling, slightly bitter flavour, while others taste sweet, nutty or floral.
Tea reached Europe in the early seventeenth century on ships of Dutch merchants. It was sold by apothecaries at first, and only the rich could pay for it; a hundred years later it was cheap enough for everybody, and coffee houses had begun to serve it by the pot. Today more than six million tonnes are harvested in a year, most of them in China, India and Kenya.
The kinds of tea differ less in their plant than in what is done with the leaves after the harvest. For green tea they are heated soon after picking, so that they stay green; for black tea they are withered, rolled and left to darken in the air. Oolong is stopped half way, and white tea is made of young buds that are only dried.
Green tea should be made with water that has cooled for a few minutes, because boiling water makes it bitter. Black tea takes boiling water and three to five minutes.
Most people store tea in a dark, dry place, away from coffee and spices. Opened packets keep their flavour for about six months.
Last updated in March. 12 comments.`,
  right: `Tea: a short introduction
Tea is a fragrant drink prepared by pouring hot water over the cured leaves of Camellia sinensis, an evergreen shrub native to East Asia. After plain water, it is the most widely consumed drink in the world. There are many kinds of tea; some have a cooling, slightly bitter flavour, while others taste sweet, nutty or floral.
Tea reached Europe in the early seventeenth century on ships of Dutch merchants. It was sold by apothecaries at first, and only the rich could pay for it; a hundred years later it was cheap enough for everybody, and coffee houses had begun to serve it by the pot. Today more than six million tonnes are harvested in a year, most of them in China, India and Kenya.
The kinds of tea differ less in their plant than in what is done with the leaves after the harvest. For green tea they are heated soon after picking, so that they stay green; for black tea they are withered, rolled and left to darken in the air. Oolong is stopped half way, and white tea is made of young buds that are only dried.
Most people store tea in a dark, dry place, away from coffee and spices. Opened packets keep their flavour for about six months.
Green tea should be made with water that has cooled for a few minutes, because boiling water makes it bitter. Black tea takes boiling water and three to five minutes.
Copied with permission. Last updated in June.`,
};

export function compare(place, _, parameters) {
  const example = parameters.has("example");
  const result = h("div", { "aria-busy": "false" });
  const fail = (error) => result.replaceChildren(failure(error));
  const [left, right] = [["left", "A"], ["right", "B"]].map(([name, letter]) =>
    side(name, letter, example ? { kind: "text", content: EXAMPLE[name] } : { kind: "url", content: parameters.get(name) ?? "" }, fail));
  const run = async () => {
    result.setAttribute("aria-busy", "true");
    result.replaceChildren(h("p", { class: "hint" }, "Comparing…"));
    try {
      result.replaceChildren(pairView(await post("/v1/compare", { left: await left.value(), right: await right.value() })));
    } catch (error) {
      fail(error);
    }
    result.setAttribute("aria-busy", "false");
  };
  place.append(
    h("h1", {}, "Compare two pages"),
    h("p", { class: "lead" }, example ? "An example: two versions of a short page. Change the texts and compare again."
      : ["See what two pages share and where they differ. ", h("a", { href: "#/compare?example=1" }, "See an example.")]),
    h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); run(); } },
      h("div", { class: "grid" }, left.box, right.box),
      h("div", { class: "actions" }, h("button", { type: "submit" }, "Compare"))),
    result);
  if (example || parameters.get("left") && parameters.get("right")) run();
}

function side(name, letter, start, fail) {
  let { kind } = start;
  const title = `Page ${letter}`;
  const area = h("textarea", { id: `${name}-text`, spellcheck: "false", "aria-label": `${title}: content`, value: kind === "url" ? "" : start.content });
  const url = h("input", { id: `${name}-url`, type: "text", inputmode: "url", autocapitalize: "off", spellcheck: "false", value: kind === "url" ? start.content : "", "aria-label": `${title}: address`, placeholder: "address of a recorded page" });
  const choose = (to) => {
    kind = to;
    box.querySelector(`input[value=${to}]`).checked = true;
    area.hidden = to === "url";
    url.hidden = to !== "url";
  };
  const take = (page, error) => {
    if (error) return fail(error);
    choose(page.kind);
    area.value = page.content;
  };
  const choice = (value) => h("label", {}, h("input", { type: "radio", name: `${name}-kind`, value, onchange: () => choose(value) }), KINDS[value]);
  const box = h("div", { class: "drop" },
    h("fieldset", {}, h("legend", {}, title), Object.keys(KINDS).map(choice)), url, area,
    h("p", { class: "hint" }, "Or drop a file here, or ", fileButton(`choose a file for ${letter}`, take), "."));
  choose(kind);
  takeDrops(box, take);
  return { box, value: () => value(kind, title, url.value, area.value) };
}

async function value(kind, title, typed, content) {
  if (kind !== "url") {
    if (!content.trim()) throw new Error(`${title} is empty: paste some ${KINDS[kind] === "HTML" ? "HTML" : "text"} or drop a file.`);
    return { [kind]: content };
  }
  const urls = addresses(typed);
  if (!urls.length) throw new Error(`${title} has no address: enter one, or choose HTML or Text.`);
  if (urls.length === 1) return { url: urls[0] };
  // Which of them is recorded?
  const known = await firstOf(urls, ["not_found"], (one) => get(`/v1/pages/${encodeURIComponent(one)}`)).catch((error) => {
    throw error.code === "not_found" ? new Error(`${title}: ${typed.trim()} is not recorded. Compare recorded pages, or paste the page.`) : error;
  });
  return { url: known.url };
}
