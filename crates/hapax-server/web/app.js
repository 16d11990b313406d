// Which view is shown: the part of the address after #.

import { failure, h } from "./dom.js";
import { tryIt } from "./try.js";
import { group, groups } from "./groups.js";
import { history } from "./history.js";
import { overview, settings } from "./overview.js";

const views = [
  [/^#\/groups\/(\d+)$/, group, "Group"],
  [/^#\/groups/, groups, "Groups"],
  [/^#\/history/, history, "History"],
  [/^#\/overview/, overview, "Overview"],
  [/^#\/settings/, settings, "Settings"],
  [/^/, tryIt, "Try it"],
];

let leave = null;

async function show() {
  leave?.();
  leave = null;
  const address = location.hash || "#/try";
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
    leave = await view(place, address.match(pattern).slice(1), parameters);
  } catch (error) {
    place.append(failure(error));
  }
}

addEventListener("hashchange", () => {
  show();
  document.getElementById("main").focus();
});
show();
