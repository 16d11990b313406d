// Groups: found, listed, looked into.

import { address, announce, count, failure, h, percent, plural, table, time } from "./dom.js";
import { get, withParameters } from "./api.js";
import { historyOf } from "./history.js";

export async function groups(place, _, parameters) {
  const search = h("input", { type: "search", id: "search", value: parameters.get("search") ?? "", placeholder: "example.org or https://example.org/path", autocomplete: "off" });
  const found = h("div", {});
  const rows = h("tbody", {});
  const more = h("button", { type: "button", class: "quiet", hidden: true }, "More");
  let next = null;
  const load = async (fresh) => {
    if (fresh) { rows.replaceChildren(); next = null; }
    try {
      const answer = await get(withParameters("/v1/groups", { search: search.value.trim(), after: next, limit: 50 }));
      rows.append(...answer.rows.map(groupRow));
      next = answer.next;
      more.hidden = !next;
      const shown = rows.childElementCount;
      announce(`${plural(shown, "group")} shown`);
      if (!shown) found.replaceChildren(h("p", { class: "notice" }, search.value.trim() ? "No recorded page has an address like that." : "Nothing is recorded yet. Record a page under Try it, or send pages to the API."));
      else found.replaceChildren(listing(rows));
    } catch (error) {
      found.replaceChildren(failure(error));
      more.hidden = true;
    }
  };
  more.addEventListener("click", () => load(false));
  place.append(h("h1", {}, "Groups"), h("p", { class: "lead" }, "Pages that are alike are one group; one copy of them stays."),
    h("form", { class: "card", role: "search", onsubmit: (event) => { event.preventDefault(); load(true); } },
      h("label", { for: "search" }, "A host, or how an address begins"),
      h("div", { class: "row" }, search, h("button", { type: "submit" }, "Search"))),
    h("section", { class: "card", "aria-label": "Groups found" }, found, h("div", { class: "actions" }, more)));
  await load(true);
}

function listing(body) {
  const box = table("Groups, largest first", [{ name: "Group" }, { name: "Copy that stays" }, { name: "Pages", number: true }, { name: "Widest distance", number: true }], []);
  box.querySelector("tbody").replaceWith(body);
  return box;
}

function groupRow(group) {
  return h("tr", {}, h("td", {}, h("a", { href: `#/groups/${group.id}` }, `#${group.id}`)),
    h("td", { class: "url" }, address(group.winner)), h("td", { class: "number" }, count(group.members)), h("td", { class: "number" }, count(group.diameter)));
}

export async function group(place, [id]) {
  place.append(h("p", {}, h("a", { href: "#/groups" }, "← all groups")));
  let first;
  try {
    first = await get(`/v1/groups/${id}?limit=100`);
  } catch (error) {
    // A group that ended still has a history; of a number that never was, nobody knows anything.
    const past = error.code === "not_found" ? await historyOf(id).catch(() => null) : null;
    if (!past) throw error;
    place.append(h("h1", {}, `Group ${id}`), h("p", { class: "notice" }, "This group is no more; its history says where its pages are."), past);
    return;
  }
  const rows = h("tbody", {});
  const more = h("button", { type: "button", class: "quiet", hidden: true }, "More members");
  const add = (answer) => {
    rows.append(...answer.rows.map((member) => memberRow(member, first.winner)));
    more.hidden = !answer.next;
    more.onclick = async () => {
      try { add(await get(`/v1/groups/${id}?limit=100&after=${answer.next}`)); } catch (error) { place.append(failure(error)); }
    };
  };
  const box = table("Members", [{ name: "Page" }, { name: "Passages alike", number: true }, { name: "Distance", number: true }, { name: "Words", number: true }, { name: "Fetched" }, { name: "Why the winner stays" }, { name: "" }], []);
  box.querySelector("tbody").replaceWith(rows);
  add(first);
  place.append(h("h1", {}, `Group ${id}`),
    h("p", { class: "lead" }, `${plural(first.members, "page")}; no two are farther apart than ${plural(first.diameter, "bit")}.`),
    first.failing > 0 && h("p", { class: "notice" }, `${plural(first.failing, "member")} came in by likeness to another member and do not match the winner: they are not called duplicates.`) || "",
    h("section", { class: "card", "aria-label": "Members" }, box, h("div", { class: "actions" }, more)));
  place.append(await historyOf(id).catch(failure));
  announce(`Group ${id} has ${plural(first.members, "page")}`);
}

function memberRow(member, winner) {
  const wins = member.url === winner;
  const alike = member.alike;
  const state = wins ? h("span", { class: "badge kind-new" }, "stays") : member.state !== "content" ? h("span", { class: "badge" }, member.state)
    : alike && !alike.matches ? h("span", { class: "badge kind-near" }, "related") : null;
  const compare = withParameters("#/try", { left: winner, right: member.url });
  return h("tr", {}, h("td", { class: "url" }, address(member.url), " ", state, member.redirects_to && h("div", { class: "hint" }, `→ ${member.redirects_to}`)),
    h("td", { class: "number" }, alike ? percent(alike.similarity, alike.exact) : ""), h("td", { class: "number" }, alike ? count(alike.distance) : ""),
    h("td", { class: "number" }, count(member.words)), h("td", {}, member.fetched === null ? "" : time(member.fetched)),
    h("td", { class: "why" }, member.reason?.text ?? ""), h("td", {}, alike && h("a", { href: compare }, "Side by side")));
}
