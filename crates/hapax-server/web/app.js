// Which view is shown: the part of the address after #.

import { failure, h } from "./dom.js";
import { settings as askSettings } from "./api.js";
import { check } from "./check.js";
import { compare } from "./compare.js";
import { search } from "./search.js";
import { group, groups } from "./groups.js";
import { history } from "./history.js";
import { overview } from "./overview.js";
import { settings } from "./settings.js";

const views = [
  [/^#\/compare/, compare, "Compare"],
  [/^#\/search/, search, "Search"],
  [/^#\/groups\/(\d+)$/, group, "Group"],
  [/^#\/groups/, groups, "Groups"],
  [/^#\/history/, history, "History"],
  [/^#\/overview/, overview, "Overview"],
  [/^#\/settings/, settings, "Settings"],
  [/^/, check, "Check a page"],
];

let close = null;

async function show() {
  close?.();
  close = null;
  const address = location.hash || "#/check";
  const [pattern, view, title] = views.find(([pattern]) => pattern.test(address));
  document.title = `${title} · Hapax`;
  for (const link of document.querySelectorAll("nav a")) {
    const here = address.startsWith(link.getAttribute("href"));
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const main = document.getElementById("main");
  const place = h("div", {});
  main.replaceChildren(place);
  try {
    const parameters = new URLSearchParams(address.split("?")[1] ?? "");
    close = await view(place, address.match(pattern).slice(1), parameters);
  } catch (error) {
    place.append(failure(error));
  }
}

addEventListener("hashchange", () => {
  show();
  document.getElementById("main").focus();
});
// A file that misses the form must not replace the page.
for (const type of ["dragover", "drop"]) addEventListener(type, (event) => event.preventDefault());
show();
askSettings().then(({ search_index }) => { document.querySelector('nav a[href="#/search"]').hidden = !search_index; }, () => {});
