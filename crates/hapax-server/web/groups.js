// Groups: the list, the search, and the members of one.

import { address, announce, count, failure, h, percent, plural, table, time } from "./dom.js";
import { get, withParameters } from "./api.js";
import { historyOf } from "./history.js";

/** Requests that a search makes by itself before it asks whether to go on. */
const PATIENCE = 20;

export async function groups(place, _, parameters) {
  const search = h("input", { type: "search", id: "search", value: parameters.get("search") ?? "", placeholder: "example.org, tea, /archive/", autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  const found = h("div", {});
  const rows = h("tbody", {});
  const more = h("button", { type: "button", class: "quiet", hidden: true });
  let next = null, shown = new Set(), run = 0;
  const load = async (fresh) => {
    const mine = (run += 1);
    const words = search.value.trim();
    if (fresh) { rows.replaceChildren(); shown = new Set(); next = null; }
    const before = shown.size;
    more.hidden = true;
    if (!before) found.replaceChildren(h("p", { class: "hint" }, "Searching…"));
    try {
      // A search looks at so many addresses at a time: an answer may be empty and not the last.
      for (let asked = 0; asked < PATIENCE && (asked === 0 || next && shown.size === before); asked += 1) {
        const answer = await get(withParameters("/v1/groups", { search: words, after: next, limit: 50 }));
        if (mine !== run) return;
        const unseen = answer.rows.filter((group) => !shown.has(group.id));
        unseen.forEach((group) => shown.add(group.id));
        rows.append(...unseen.map(groupRow));
        next = answer.next;
      }
      more.hidden = !next;
      more.textContent = shown.size > before ? "More" : "Search on";
      const said = shown.size ? `${plural(shown.size, "group")} shown` : next ? "Nothing found so far; not all addresses have been searched yet."
        : words ? `No recorded address contains "${words}".` : "Nothing is recorded yet. Record a page under Check a page, or send pages to the API.";
      announce(said);
      found.replaceChildren(...(shown.size ? [h("p", { class: "hint" }, words ? `Groups with a page whose address contains "${words}".` : "Largest groups first."), listing(rows)] : [h("p", { class: "notice" }, said)]));
    } catch (error) {
      found.replaceChildren(failure(error));
    }
  };
  more.addEventListener("click", () => load(false));
  place.append(h("h1", {}, "Groups"), h("p", { class: "lead" }, "A group holds the pages that are near-duplicates of each other, and keeps one of them."),
    h("form", { class: "card", role: "search", onsubmit: (event) => { event.preventDefault(); load(true); } },
      h("label", { for: "search" }, "Find groups by any part of an address"),
      h("div", { class: "line" }, search, h("button", { type: "submit" }, "Search"))),
    h("section", { class: "card", "aria-label": "Groups found" }, found, h("div", { class: "actions" }, more)));
  await load(true);
}

function listing(body) {
  const box = table("Groups", [{ name: "Group" }, { name: "Kept page" }, { name: "Pages", number: true }, { name: "Largest distance (bits)", number: true }], []);
  box.querySelector("tbody").replaceWith(body);
  return box;
}

function groupRow(group) {
  return h("tr", {}, h("td", {}, h("a", { href: `#/groups/${group.id}` }, `#${group.id}`)),
    h("td", { class: "url" }, address(group.winner)), h("td", { class: "number" }, count(group.members)), h("td", { class: "number" }, group.members > 1 ? count(group.diameter) : ""));
}

export async function group(place, [id]) {
  place.append(h("p", {}, h("a", { href: "#/groups" }, "← all groups")));
  let first;
  try {
    first = await get(`/v1/groups/${id}?limit=100`);
  } catch (error) {
    // A group that ended still has a history; a number that was never given has none.
    const past = error.code === "not_found" ? await historyOf(id).catch(() => null) : null;
    if (!past) throw error;
    place.append(h("h1", {}, `Group ${id}`), h("p", { class: "notice" }, "This group has ended; its history says where its pages are."), past);
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
  const box = table("Members", [{ name: "Page" }, { name: "Similarity (estimated)", number: true }, { name: "Distance (bits)", number: true }, { name: "Words", number: true }, { name: "Fetched (UTC)" }, { name: "Why the other page is kept" }, { name: "" }], []);
  box.querySelector("tbody").replaceWith(rows);
  add(first);
  place.append(h("h1", {}, `Group ${id}`),
    h("p", { class: "lead" }, first.members === 1 ? "1 page, with no near-duplicate." : `${plural(first.members, "page")}; the fingerprints of any two differ in at most ${plural(first.diameter, "bit")}.`),
    first.failing > 0 && h("p", { class: "notice" }, first.failing === 1 ? "1 page is similar to another page of this group, but not to the kept page: it is related, not a duplicate."
      : `${count(first.failing)} pages are similar to other pages of this group, but not to the kept page: they are related, not duplicates.`) || "",
    h("section", { class: "card", "aria-label": "Members" }, box, h("div", { class: "actions" }, more)));
  place.append(await historyOf(id).catch(failure));
  announce(`Group ${id} has ${plural(first.members, "page")}`);
}

function memberRow(member, winner) {
  const wins = member.url === winner;
  const { reason, verdict } = member.status;
  const alike = wins ? null : member.status.alike;
  const state = wins ? h("span", { class: "badge kind-new" }, "kept") : member.state !== "content" ? h("span", { class: "badge" }, member.state)
    : verdict === "related" ? h("span", { class: "badge kind-near" }, "related") : null;
  const compare = withParameters("#/compare", { left: winner, right: member.url });
  return h("tr", {}, h("td", { class: "url" }, address(member.url), " ", state, member.redirects_to && h("div", { class: "hint" }, `→ ${member.redirects_to}`)),
    h("td", { class: "number" }, alike ? percent(alike.similarity, alike.exact) : ""), h("td", { class: "number" }, alike ? count(alike.distance) : ""),
    h("td", { class: "number" }, count(member.words)), h("td", { class: "time" }, time(member.fetched)),
    h("td", { class: "why" }, wins ? "" : reason?.text ?? ""), h("td", { class: "time" }, alike && h("a", { href: compare }, "Side by side")));
}
