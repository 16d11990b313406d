// Search: the pages of a search index, near-duplicates folded under the best of them.

import { address, announce, failure, h, percent, plural } from "./dom.js";
import { get, settings, withParameters } from "./api.js";

export async function search(place, _, parameters) {
  const { search_index: served } = await settings();
  place.append(h("h1", {}, "Search"));
  if (!served) {
    place.append(h("p", { class: "notice" }, "This service has no search index. Build one with ", h("code", {}, "hapax search build"), " and start the service with ", h("code", {}, "--search-index DIR"), "."));
    return;
  }
  const words = parameters.get("q") ?? "";
  const all = parameters.has("all");
  const query = h("input", { type: "search", id: "query", value: words, autocomplete: "off" });
  const unfold = h("input", { type: "checkbox", checked: all });
  const found = h("div", {});
  const list = h("ol", { class: "hits" });
  const more = h("button", { type: "button", class: "quiet", hidden: true }, "More results");
  const load = async (after) => {
    try {
      const answer = await get(withParameters("/v1/search", { q: words, after, collapse: all ? "false" : null }));
      list.append(...answer.hits.map(hit));
      more.hidden = !answer.next;
      more.onclick = () => load(answer.next);
      const said = answer.results ? `${plural(answer.results, "page")} found${answer.folded ? `, ${plural(answer.folded, "near-duplicate")} folded` : ""}.` : "No page has these words.";
      found.replaceChildren(h("p", { class: "hint" }, said));
      announce(said);
    } catch (error) {
      found.replaceChildren(failure(error));
      more.hidden = true;
    }
  };
  place.append(
    h("p", { class: "lead" }, "Searches the index that this service serves. Near-duplicates are folded under the best of them."),
    h("form", { class: "card", role: "search", onsubmit: (event) => { event.preventDefault(); location.hash = withParameters("#/search", { q: query.value.trim(), all: unfold.checked ? "1" : null }); } },
      h("label", { for: "query" }, "Words to search for"),
      h("div", { class: "line" }, query, h("button", { type: "submit" }, "Search")),
      h("label", { class: "check" }, unfold, "show near-duplicates as results of their own")));
  if (!words) return;
  place.append(h("section", { class: "card", "aria-label": "Results" }, found, list, h("div", { class: "actions" }, more)));
  await load(null);
}

function hit(found) {
  return h("li", { value: String(found.rank) }, entry(found),
    found.copies.length > 0 && h("details", {}, h("summary", {}, plural(found.copies.length, "near-duplicate")),
      h("ul", {}, found.copies.map((copy) => h("li", {}, entry(copy),
        h("p", { class: "hint" }, `${percent(copy.similarity)} similar (estimated), ${plural(copy.distance, "bit")} of 64 ${copy.distance === 1 ? "differs" : "differ"}. ${copy.reason}`))))));
}

function entry(found) {
  const title = found.title ?? found.url ?? found.name;
  return [h("p", { class: "title", dir: "auto" }, title, found.marked && [" ", h("span", { class: "badge" }, "marked as duplicate")]),
    h("p", { class: "hint" }, address(found.url ?? found.name)), h("p", { class: "start", dir: "auto" }, passage(found.snippet))];
}

// Marks count code points, strings UTF-16.
function passage({ text, marks }) {
  const characters = Array.from(text);
  const piece = (from, to) => characters.slice(from, to).join("");
  let at = 0;
  const pieces = marks.flatMap(([from, to]) => {
    const before = piece(at, from);
    at = to;
    return [before, h("mark", {}, piece(from, to))];
  });
  return [...pieces, piece(at)];
}
