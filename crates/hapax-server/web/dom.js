// Elements and words. Text from outside only ever becomes a text node: nothing here, or anywhere
// in these files, turns a string into markup.

/** An element: attributes, listeners (functions), children (nodes, strings, arrays, nothing). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...flat(children));
  return element;
}

/** The same for drawings. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...flat(children));
  return element;
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** Says something to those who listen rather than look. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/** What went wrong, as a box. */
export function failure(error) {
  const text = error.message || String(error);
  announce(text);
  return h("div", { class: "error", role: "alert" }, h("b", {}, error.title || "That did not work. "), " ", text,
    error.code === "unauthorized" ? [" ", h("a", { href: "#/settings" }, "Enter a token.")] : null);
}

const grouped = new Intl.NumberFormat("en");
export const count = (n) => grouped.format(n);
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 1000 && unit < units.length - 1) { n /= 1000; unit += 1; }
  return `${n >= 100 || unit === 0 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

/** Less than everything is never shown as everything. */
export function percent(share, exact = false) {
  if (share >= 1 && exact) return "100 %";
  return `${(Math.min(share, 0.999) * 100).toFixed(share >= 0.99 && share < 1 ? 1 : 0)} %`;
}

export function time(seconds) {
  return seconds === null || seconds === undefined ? "unknown"
    : new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 16);
}

/** Only http(s) addresses become links. */
export function address(url) {
  return /^https?:\/\//.test(url)
    ? h("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, url) : h("span", {}, url);
}

export function table(caption, heads, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "visually-hidden" }, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", class: head.number ? "number" : null }, head.name)))),
      h("tbody", {}, rows)));
}
