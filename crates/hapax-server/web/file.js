// Files that are dropped or chosen: which kind of page they are, and their text.

import { bytes, h } from "./dom.js";
import { settings } from "./api.js";

/** Bytes in which a page names its charset; HTML asks for the first 1024. */
const DECLARED = 1024;

/** A file as `{ name, kind: "html" | "text", content }`. */
export async function readPage(file) {
  const most = (await settings().catch(() => null))?.body_bytes;
  if (most !== undefined && file.size > most) {
    throw new Error(`${file.name} has ${bytes(file.size)}; the service takes at most ${bytes(most)}.`);
  }
  const data = new Uint8Array(await file.arrayBuffer());
  const { charset, wide } = charsetOf(data);
  if (!wide && data.includes(0)) throw new Error(`${file.name} is neither HTML nor text. Drop a page saved as HTML, or a text file.`);
  const content = decode(data, charset);
  const isHtml = /\.(x?html?|xht)$/i.test(file.name) || /html/.test(file.type) || /^\s*<(!doctype|html|\?xml)/i.test(content);
  return { name: file.name, kind: isHtml ? "html" : "text", content };
}

/** As browsers do: byte order mark, then declaration; UTF-8 or Windows-1252 without either. */
function charsetOf(data) {
  const [a, b] = data;
  if (a === 0xfe && b === 0xff) return { charset: "utf-16be", wide: true };
  if (a === 0xff && b === 0xfe) return { charset: "utf-16le", wide: true };
  const start = new TextDecoder("latin1").decode(data.subarray(0, DECLARED));
  return { charset: start.match(/<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)/i)?.[1], wide: false };
}

function decode(data, charset) {
  for (const [label, fatal] of [["utf-8", true], [charset, false]]) {
    try {
      if (label) return new TextDecoder(label, { fatal }).decode(data);
    } catch {
      // Not this charset, or none that is known: the next one.
    }
  }
  return new TextDecoder("windows-1252").decode(data);
}

/** Takes files that are dropped on an element; `take` gets a page or an error. */
export function takeDrops(element, take) {
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  const over = (on) => (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    element.classList.toggle("dropping", on);
  };
  element.addEventListener("dragenter", over(true));
  element.addEventListener("dragover", over(true));
  element.addEventListener("dragleave", over(false));
  element.addEventListener("drop", (event) => {
    over(false)(event);
    const [file] = event.dataTransfer?.files ?? [];
    if (file) readPage(file).then((page) => take(page, null), (error) => take(null, error));
  });
}

/** A button that opens the browser's dialog for files. */
export function fileButton(label, take) {
  const input = h("input", { type: "file", class: "visually-hidden", tabindex: "-1", "aria-hidden": "true", accept: ".html,.htm,.xhtml,.txt,.md,text/html,text/plain",
    onchange: () => {
      const [file] = input.files;
      if (file) readPage(file).then((page) => take(page, null), (error) => take(null, error));
      input.value = "";
    } });
  return [h("button", { type: "button", class: "link", onclick: () => input.click() }, label), input];
}
