// Change events: all of them from any number on, or those of one group.

import { address, announce, count, failure, h, plural, table, time } from "./dom.js";
import { events, get, withParameters } from "./api.js";

const CHANGES = {
  joined: (event, name) => ["joined", name(event.group)],
  left: (event, name) => ["left", name(event.group)],
  merged: (event, name) => [name(event.group), "was merged into", name(event.other_group)],
  split: (event, name) => ["some pages of", name(event.group), "were split off into", name(event.other_group)],
  winner: (event, name) => ["is now the kept page of", name(event.group), ...(event.other_url ? ["instead of", address(event.other_url)] : [])],
  changed: () => ["has new content"],
  gone: () => ["was deleted"],
  redirected: (event) => ["now redirects to", event.other_url ? address(event.other_url) : "a deleted page"],
  returned: () => ["no longer redirects"],
};

function toGroup(id) {
  return h("a", { href: `#/groups/${id}` }, `group ${id}`);
}

const HEADS = [{ name: "Number", number: true }, { name: "Time (UTC)" }, { name: "What happened" }];

/** A change; within a group's own history the group is not named again. */
function row(event, own = null) {
  const name = (id) => (id === own ? "this group" : toGroup(id));
  const what = CHANGES[event.change]?.(event, name).flatMap((part) => [part, " "]) ?? event.change;
  return h("tr", {}, h("td", { class: "number" }, count(event.sequence)), h("td", { class: "time" }, time(event.at)),
    h("td", { class: "url" }, event.url && [address(event.url), " "], what));
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
    // An answer covers so many events of any group: it can be empty and not the last.
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
    said.textContent = !shown ? "The events of this group are no longer stored." : next ? `The last ${plural(shown, "change")}, newest first.` : `${plural(shown, "change")}, newest first.`;
    announce(`${plural(shown, "change")} shown`);
  };
  more.addEventListener("click", () => load().catch((error) => section.append(failure(error))));
  await load();
  return section;
}

export async function history(place, _, parameters) {
  const size = 50;
  const { events: last } = await get("/v1/stats?since=9999-12-31");
  const after = Math.max(0, Math.min(Number(parameters.get("after") ?? Math.max(0, last - size)) || 0, last));
  const { rows } = await events(after, size);
  const go = (to) => { location.hash = `#/history?after=${Math.max(0, to)}`; };
  const number = h("input", { type: "number", id: "number", min: "1", max: last, value: after + 1 });
  place.append(h("h1", {}, "History"), h("p", { class: "lead" }, last ? `${plural(last, "change")} to groups and pages so far.` : "Nothing has happened yet."));
  if (!last) return undefined;
  place.append(
    h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); go(Number(number.value) - 1); } },
      h("label", { for: "number" }, "From change number on"),
      h("div", { class: "line" }, number, h("button", { type: "submit" }, "Go"),
        h("button", { type: "button", class: "quiet", disabled: after === 0, onclick: () => go(after - size) }, "Older"),
        h("button", { type: "button", class: "quiet", disabled: after + size >= last, onclick: () => go(after + size) }, "Newer"))),
    h("section", { class: "card" }, h("p", { class: "hint" }, `Changes ${count(after + 1)} to ${count(after + rows.length)}, newest first.`), table("Changes", HEADS, rows.reverse().map((event) => row(event)))));
  return undefined;
}
