// Check a page: an address, HTML, text or a file in; whether it is known out.

import { address, failure, h, plural, time } from "./dom.js";
import { UNREACHABLE, addresses, firstOf, get, post, settings } from "./api.js";
import { fileButton, takeDrops } from "./file.js";
import { verdictCard } from "./verdict.js";

/** The address of a page that has none, so that no rule about addresses applies to it. */
export const PASTED = "about:pasted";

const KINDS = {
  url: { choice: "Address", waiting: "Fetching…", missing: "Enter an address first." },
  html: { choice: "HTML", label: "HTML of the page", waiting: "Checking…", missing: "Paste the HTML of a page first, or drop a file." },
  text: { choice: "Text", label: "Text of the page", waiting: "Checking…", missing: "Paste some text first, or drop a file." },
};

export function check(place) {
  const result = h("div", { "aria-busy": "false" });
  let kind = "url";
  const area = h("textarea", { id: "content", spellcheck: "false", rows: "8" });
  const areaLabel = h("label", { for: "content" });
  const url = h("input", { id: "url", type: "text", inputmode: "url", autocomplete: "off", autocapitalize: "off", spellcheck: "false", placeholder: "example.org/page" });
  const urlLabel = h("label", { for: "url" });
  const hint = h("p", { class: "hint" });
  let fetching = true;
  const show = () => {
    area.hidden = areaLabel.hidden = kind === "url";
    areaLabel.textContent = KINDS[kind].label ?? "";
    urlLabel.textContent = kind === "url" ? "Address of the page" : "Its address (only needed to record it)";
    hint.textContent = kind !== "url" ? ""
      : fetching ? "The service fetches the page: public addresses only, as far as robots.txt allows."
      : "This service does not fetch pages. Choose HTML or Text and paste the page, or drop a file.";
  };
  const choose = (to) => {
    kind = to;
    form.querySelector(`input[value=${to}]`).checked = true;
    show();
  };
  const fail = (error) => result.replaceChildren(failure(error));
  const run = async (record) => {
    const urls = addresses(url.value), content = area.value;
    if (kind === "url" ? !urls.length : !content.trim()) return fail(new Error(KINDS[kind].missing));
    if (record && !urls.length) return fail(new Error("Pages are recorded under their address: enter one."));
    result.setAttribute("aria-busy", "true");
    result.replaceChildren(h("p", { class: "hint" }, KINDS[kind].waiting));
    try {
      const side = kind === "url" ? null : { [kind]: content };
      const verdict = kind === "url"
        ? await firstOf(urls, UNREACHABLE, (one) => post("/v1/fetch", { url: one, record, text: true }))
        : await post(record ? "/v1/pages" : "/v1/check", { url: urls[0] ?? PASTED, ...side });
      result.replaceChildren(verdictCard(verdict, side ?? { text: verdict.text ?? "" }, verdict.url === PASTED));
    } catch (error) {
      fail(error);
      if (kind === "url") result.append(...await recorded(urls));
    }
    result.setAttribute("aria-busy", "false");
  };
  const take = (page, error) => {
    if (error) return fail(error);
    choose(page.kind);
    area.value = page.content;
    run(false);
  };
  const choice = (value) => h("label", {}, h("input", { type: "radio", name: "kind", value, checked: value === kind, onchange: () => choose(value) }), KINDS[value].choice);
  const form = h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); run(false); } },
    h("fieldset", {}, h("legend", {}, "Check by"), Object.keys(KINDS).map(choice)),
    areaLabel, area, urlLabel, url, hint,
    h("div", { class: "actions" },
      h("button", { type: "submit" }, "Check"),
      h("button", { type: "button", class: "quiet", onclick: () => run(true) }, "Check and record")),
    h("p", { class: "hint" }, "Or drop an HTML or text file here, or ", fileButton("choose a file", take), "."));
  takeDrops(form, take);
  place.append(
    h("h1", {}, "Has this page been seen?"),
    h("p", { class: "lead" }, "Hapax finds near-duplicate web pages: enter an address to see whether that page, or a copy of it, is already known. ",
      h("a", { href: "#/compare?example=1" }, "See an example.")),
    form, result);
  show();
  settings().then((shown) => { fetching = shown.fetching !== false; show(); }, () => {});
}

/** What is recorded under an address that cannot be fetched now. */
async function recorded(urls) {
  const known = await firstOf(urls, ["not_found"], (url) => get(`/v1/pages/${encodeURIComponent(url)}`)).catch(() => null);
  if (!known) return [];
  const { status } = known;
  return [h("section", { class: "card", "aria-label": "Recorded page" },
    h("h2", {}, "This address is recorded"),
    h("p", {}, address(known.url)),
    h("dl", {},
      known.fetched !== null && [h("dt", {}, "Last fetched (UTC)"), h("dd", {}, time(known.fetched))],
      known.state === "content" && [h("dt", {}, "Text"), h("dd", {}, plural(known.words, "word"))],
      known.state !== "content" && [h("dt", {}, "State"), h("dd", {}, known.state)],
      status && status.winner !== known.url && [h("dt", {}, "Kept page"), h("dd", {}, address(status.winner))],
      known.group !== null && [h("dt", {}, "Group"), h("dd", {}, h("a", { href: `#/groups/${known.group}` }, `Group ${known.group}`))]))];
}
