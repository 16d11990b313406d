// Try it: a page in, its verdict out, and the page it duplicates beside it. Or any two pages.

import { address, announce, count, failure, h, percent, plural, table } from "./dom.js";
import { post } from "./api.js";
import { pairView } from "./pair.js";

const KINDS = {
  new: ["New", "No known page is like this one."],
  exact: ["Exact duplicate", "It shows the same text as"],
  near: ["Near duplicate", "It shows nearly the same text as"],
  related: ["Related", "It is like a page of a group, but not like the group's winner"],
  redirect: ["Redirect", "It leads to"],
  cycle: ["Redirect in a circle", "It leads back to itself; there is nothing to compare."],
  empty: ["Empty", "It has no words to compare."],
  awaited: ["Awaited", "Other pages lead to it, but it was never seen."],
};

/** The address of what has none; no rule should say anything of it. */
const PASTED = "about:pasted";

export function tryIt(place, _, parameters) {
  const duplicate = h("div", {});
  const compare = h("div", { hidden: true });
  const choose = (which) => () => {
    duplicate.hidden = which !== "duplicate";
    compare.hidden = which !== "compare";
  };
  const start = parameters.has("left") ? "compare" : "duplicate";
  const radio = (value, text) => h("label", {}, h("input", { type: "radio", name: "what", value, checked: value === start, onchange: choose(value) }), text);
  place.append(
    h("h1", {}, "Has this page been seen?"),
    h("fieldset", {}, h("legend", { class: "visually-hidden" }, "What to do"), radio("duplicate", "Look for duplicates"), radio("compare", "Compare two pages")),
    duplicate, compare);
  duplicate.append(duplicateForm());
  compare.append(compareForm(parameters));
  choose(start)();
}

function duplicateForm() {
  const result = h("div", { "aria-busy": "false" });
  const kinds = { url: "Address", html: "HTML", text: "Text" };
  let kind = "text";
  const area = h("textarea", { id: "content", spellcheck: "false", rows: "8" });
  const url = h("input", { id: "url", type: "text", inputmode: "url", autocomplete: "off", placeholder: "https://example.org/page" });
  const areaLabel = h("label", { for: "content" }, "Text of the page");
  const hint = h("p", { class: "hint" });
  const urlLabel = h("label", { for: "url" }, "Its address");
  const show = () => {
    area.hidden = areaLabel.hidden = kind === "url";
    areaLabel.textContent = kind === "html" ? "HTML of the page" : "Text of the page";
    urlLabel.textContent = kind === "url" ? "Address of the page" : "Its address (needed to record it)";
    hint.textContent = kind === "url" ? "The service fetches the page itself: public addresses only, and robots.txt is obeyed." : "";
  };
  const choice = (value) => h("label", {}, h("input", { type: "radio", name: "kind", value, checked: value === kind, onchange: () => { kind = value; show(); } }), kinds[value]);
  const run = async (record) => {
    const given = { url: url.value.trim(), content: area.value };
    if (kind === "url" && !given.url) return result.replaceChildren(failure(new Error("Give an address first.")));
    if (kind !== "url" && !given.content.trim()) return result.replaceChildren(failure(new Error("Paste some text first.")));
    if (record && !given.url) return result.replaceChildren(failure(new Error("A page is recorded under its address: give one.")));
    result.setAttribute("aria-busy", "true");
    result.replaceChildren(h("p", { class: "hint" }, kind === "url" ? "Fetching…" : "Looking…"));
    try {
      const side = kind === "url" ? null : { [kind]: given.content };
      const verdict = kind === "url"
        ? await post("/v1/fetch", { url: given.url, record, text: true })
        : await post(record ? "/v1/pages" : "/v1/check", { url: given.url || PASTED, ...side });
      result.replaceChildren(verdictCard(verdict, side ?? { text: verdict.text ?? "" }));
    } catch (error) {
      result.replaceChildren(failure(error));
    }
    result.setAttribute("aria-busy", "false");
  };
  show();
  return [
    h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); run(false); } },
      h("fieldset", {}, h("legend", {}, "I have its"), Object.keys(kinds).map(choice)),
      areaLabel, area, urlLabel, url, hint,
      h("div", { class: "actions" },
        h("button", { type: "submit" }, "Check"),
        h("button", { type: "button", class: "quiet", onclick: () => run(true) }, "Check and record"))),
    result,
  ].reduce((box, child) => (box.append(child), box), h("div", {}));
}

function verdictCard(verdict, side) {
  const [name, sentence] = KINDS[verdict.verdict] ?? [verdict.verdict, ""];
  const other = verdict.winner !== verdict.url ? verdict.winner : verdict.matches[0]?.url;
  const alike = verdict.alike;
  announce(`${name}. ${other ? `Compared with ${other}.` : ""}`);
  const card = h("section", { class: "card", "aria-label": "Verdict" },
    h("div", { class: "verdict" },
      h("div", { class: `figure kind-${verdict.verdict}` }, alike ? percent(alike.similarity, alike.exact) : "0 %",
        h("small", {}, alike ? "of the passages are alike" : "like any known page")),
      h("div", {}, h("h2", {}, name), h("p", {}, sentence, other && alike ? [" ", address(other)] : null),
        verdict.reason && verdict.url !== PASTED && h("p", { class: "hint" }, `${verdict.winner === verdict.url ? "This page would stay" : "That one stays"}: ${verdict.reason.text}`))),
    h("dl", {},
      alike && [h("dt", {}, "Fingerprints"), h("dd", {}, `${64 - alike.distance} of 64 bits agree (${alike.percent.toFixed(1)} %), distance ${alike.distance}`)],
      verdict.group !== null && [h("dt", {}, "Group"), h("dd", {}, h("a", { href: `#/groups/${verdict.group}` }, `number ${verdict.group}`))],
      [h("dt", {}, "Recorded"), h("dd", {}, verdict.recorded ? "yes" : "no, only looked up")],
      verdict.redirects?.length > 0 && [h("dt", {}, "Redirects"), h("dd", {}, verdict.redirects.map((hop) => h("div", {}, `${hop.from} → ${hop.to}`)))]));
  if (verdict.matches.length) {
    card.append(h("h2", {}, `${plural(verdict.found, "page")} like it`),
      table("Pages like it", [{ name: "Page" }, { name: "Passages alike", number: true }, { name: "Distance", number: true }, { name: "" }],
        verdict.matches.map((match) => h("tr", {}, h("td", { class: "url" }, address(match.url)),
          h("td", { class: "number" }, percent(match.similarity, match.exact)), h("td", { class: "number" }, count(match.distance)),
          h("td", {}, h("button", { type: "button", class: "quiet", onclick: () => load(match.url) }, "Side by side"))))));
  }
  const pair = h("div", {});
  const load = async (url) => {
    pair.replaceChildren(h("p", { class: "hint" }, "Comparing…"));
    try {
      pair.replaceChildren(pairView(await post("/v1/compare", { left: { url }, right: side })));
    } catch (error) {
      pair.replaceChildren(failure(error));
    }
  };
  if (other && alike) load(other);
  return h("div", {}, card, pair);
}

function compareForm(parameters) {
  const result = h("div", {});
  const side = (name, title) => {
    let kind = "url";
    const area = h("textarea", { id: `${name}-text`, spellcheck: "false", hidden: true, "aria-label": `${title}: content` });
    const url = h("input", { id: `${name}-url`, type: "text", inputmode: "url", value: parameters.get(name) ?? "", "aria-label": `${title}: address`, placeholder: "address of a recorded page" });
    const choice = (value, text) => h("label", {}, h("input", { type: "radio", name: `${name}-kind`, value, checked: value === kind, onchange: () => { kind = value; area.hidden = value === "url"; url.hidden = value !== "url"; } }), text);
    return {
      value: () => ({ [kind]: kind === "url" ? url.value.trim() : area.value }),
      box: h("div", {}, h("fieldset", {}, h("legend", {}, title), choice("url", "Address"), choice("html", "HTML"), choice("text", "Text")), url, area),
    };
  };
  const [left, right] = [side("left", "First page"), side("right", "Second page")];
  const run = async () => {
    result.replaceChildren(h("p", { class: "hint" }, "Comparing…"));
    try {
      result.replaceChildren(pairView(await post("/v1/compare", { left: left.value(), right: right.value() })));
    } catch (error) {
      result.replaceChildren(failure(error));
    }
  };
  if (parameters.get("left") && parameters.get("right")) run();
  return h("div", {},
    h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); run(); } },
      h("div", { class: "grid" }, left.box, right.box),
      h("div", { class: "actions" }, h("button", { type: "submit" }, "Compare"))),
    result);
}
