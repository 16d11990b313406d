// What changed, and when: all of it from any number on, or the changes of one group.

import { address, announce, count, failure, h, plural, table } from "./dom.js";
import { get, withParameters } from "./api.js";

const CHANGES = {
  joined: (event, name) => ["joined", name(event.group)],
  left: (event, name) => ["left", name(event.group)],
  merged: (event, name) => [name(event.group), "became part of", name(event.other_group)],
  split: (event, name) => ["some pages of", name(event.group), "became", name(event.other_group)],
  winner: (event, name) => ["stays for", name(event.group), "instead of", event.other_url ?? "a page that has gone"],
  gone: () => ["is gone"],
  redirected: (event, name) => ["redirects to", event.other_url ?? "a page that has gone"],
  returned: () => ["redirects no more"],
};

function toGroup(id) {
  return h("a", { href: `#/groups/${id}` }, `group ${id}`);
}

const HEADS = [{ name: "Number", number: true }, { name: "What happened" }];

/** A change; within a group's own history the group is not named again. */
function row(event, own = null) {
  const name = (id) => (id === own ? "this group" : toGroup(id));
  const what = CHANGES[event.change]?.(event, name).flatMap((part) => [part, " "]) ?? event.change;
  return h("tr", {}, h("td", { class: "number" }, count(event.sequence)), h("td", { class: "url" }, event.url && [address(event.url), " "], what));
}

/** The changes of a group, newest first, and a button for older ones. */
export async function historyOf(id) {
  const rows = h("tbody", {});
  const more = h("button", { type: "button", class: "quiet", hidden: true }, "Older changes");
  const said = h("p", { class: "hint" });
  const box = table("Changes of this group", HEADS, []);
  box.querySelector("tbody").replaceWith(rows);
  const section = h("section", { class: "card", "aria-label": "History" }, h("h2", {}, "History"), said, box, h("div", { class: "actions" }, more));
  let next = null;
  const load = async () => {
    // Much may have happened to others in between: a piece can be empty and not the last.
    let found = 0;
    do {
      const answer = await get(withParameters(`/v1/groups/${id}/events`, { after: next, limit: 20 }));
      rows.append(...answer.rows.map((event) => row(event, Number(id))));
      next = answer.next;
      found += answer.rows.length;
    } while (next && !found);
    const shown = rows.childElementCount;
    more.hidden = !next;
    box.hidden = !shown;
    said.textContent = !shown ? "The changes of this group are not kept any more." : next ? `The last ${plural(shown, "change")}, newest first.` : `${plural(shown, "change")}, newest first.`;
    announce(`${plural(shown, "change")} shown`);
  };
  more.addEventListener("click", () => load().catch((error) => section.append(failure(error))));
  await load();
  return section;
}

export async function history(place, _, parameters) {
  const size = 50;
  const { events: last } = await get("/v1/stats?since=9e15");
  const after = Math.max(0, Math.min(Number(parameters.get("after") ?? Math.max(0, last - size)) || 0, last));
  const { rows } = await get(`/v1/events?after=${after}&limit=${size}`);
  const go = (to) => { location.hash = `#/history?after=${Math.max(0, to)}`; };
  const number = h("input", { type: "number", id: "number", min: "1", max: last, value: after + 1 });
  place.append(h("h1", {}, "History"), h("p", { class: "lead" }, last ? `${plural(last, "change")} so far, none left out.` : "Nothing has happened yet."));
  if (!last) return undefined;
  place.append(
    h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); go(Number(number.value) - 1); } },
      h("label", { for: "number" }, "From change number"),
      h("div", { class: "row" }, number, h("button", { type: "submit" }, "Go"),
        h("button", { type: "button", class: "quiet", disabled: after === 0, onclick: () => go(after - size) }, "Older"),
        h("button", { type: "button", class: "quiet", disabled: after + size >= last, onclick: () => go(after + size) }, "Newer"))),
    h("section", { class: "card" }, table("Changes", HEADS, rows.map((event) => row(event)))));
  return undefined;
}
