"""How well extracted text agrees with what Chromium shows.

Every page of a JSON lines file (field `html`) is loaded into a frame that runs no scripts and fetches nothing, and
its `innerText` is compared, as a multiset of words, with what each program makes of the same page. A program reads
the pages as JSON lines and writes JSON lines with a field `text` (`cargo build --release -p hapax --example extract`).
`innerText` leaves out what is not displayed or not visible; it keeps text that is transparent, off screen or of no
size, which the specification leaves out, too. `noscript` is removed, as scripts would be running.

    python3 shown.py pages.jsonl --program after=target/release/examples/extract [--pages 200] [--generated 200]

Prints for each program the precision and recall of words over all pages, and the share of pages with F1 of at least 0.99.
"""

import argparse
import base64
import collections
import json
import random
import re
import subprocess
import tempfile

WRAPPER = """<!doctype html><meta charset=utf-8><pre id=out></pre><script>
const pages = PAGES;
async function take(html) {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-same-origin";
  frame.style = "width:1280px;height:900px";
  const loaded = new Promise((resolve) => { frame.onload = resolve; setTimeout(resolve, 5000); });
  frame.srcdoc = html;
  document.body.append(frame);
  await loaded;
  const page = frame.contentDocument;
  const taken = TAKE;
  frame.remove();
  return taken;
}
(async () => {
  const texts = [];
  for (const html of pages) texts.push(await take(html));
  document.getElementById("out").textContent = "BEGIN" + btoa(unescape(encodeURIComponent(JSON.stringify(texts)))) + "END";
})();
</script>"""

SHOWN = """(() => {
  page.querySelectorAll("noscript").forEach((it) => it.remove());
  return page.body ? page.body.innerText : "";
})()"""

HIDING = [
    'style="display:none"', "hidden", 'style="visibility:hidden"', "class=gone", "id=away", 'style="display: none !important"',
    'class="a gone b"', 'style="color:red;DISPLAY:none"', "class=late",
]
BLOCKS = ["div", "p", "section", "span", "li", "td", "b", "h2", "em", "article"]


def generated(count):
    """Pages of shown and hidden blocks, nested, with end tags left out here and there."""
    chance = random.Random(7)

    def block(depth):
        name = chance.choice(BLOCKS)
        attribute = chance.choice(HIDING) if chance.random() < 0.25 else ""
        words = " ".join(f"w{chance.randrange(5000)}" for _ in range(chance.randrange(1, 12)))
        inside = "".join(block(depth + 1) for _ in range(chance.randrange(3))) if depth < 4 else ""
        end = "" if name in ("p", "li", "td") and chance.random() < 0.5 else f"</{name}>"
        whole = f"<{name} {attribute}>{words} {inside}{end} "
        return {"li": f"<ul>{whole}</ul>", "td": f"<table><tr>{whole}</table>"}.get(name, whole)

    head = "<!doctype html><style>.gone{display:none} #away{display:none} @media print{p{display:none}}</style>"
    for _ in range(count):
        yield head + "".join(block(0) for _ in range(20)) + "<style>.late{visibility:hidden}</style>"


def chromium(pages, take=SHOWN):
    """What the expression `take` gives for each page."""
    texts = []
    for start in range(0, len(pages), 25):
        with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
            source = json.dumps(pages[start : start + 25]).replace("<", "\\u003c")
            file.write(WRAPPER.replace("TAKE", take).replace("PAGES", source))
            file.flush()
            command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=600000"]
            command += ["--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", f"file://{file.name}"]
            dom = subprocess.run(command, capture_output=True, text=True, timeout=900).stdout
        found = re.search("BEGIN([A-Za-z0-9+/=]{4,})END", dom)
        texts += json.loads(base64.b64decode(found.group(1)))
    return texts


def words(text):
    return collections.Counter(re.findall(r"\w+", text.casefold()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?")
    parser.add_argument("--program", action="append", default=[], metavar="NAME=PROGRAM")
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--generated", type=int, default=0)
    arguments = parser.parse_args()
    pages = list(generated(arguments.generated))
    if arguments.file:
        with open(arguments.file, encoding="utf-8") as lines:
            pages += [json.loads(line)["html"] for line, _ in zip(lines, range(arguments.pages))]
    expected = [words(text) for text in chromium(pages)]
    lines = "".join(json.dumps({"html": html}) + "\n" for html in pages)
    print(f"{len(pages)} pages, {sum(sum(it.values()) for it in expected)} words shown")
    for program in arguments.program:
        name, path = program.split("=", 1)
        out = subprocess.run([path], input=lines, capture_output=True, text=True, check=True).stdout
        found = [words(json.loads(line)["text"]) for line in out.splitlines()]
        common = [sum((a & b).values()) for a, b in zip(found, expected)]
        sizes = [(sum(a.values()), sum(b.values())) for a, b in zip(found, expected)]
        alike = sum(2 * c >= 0.99 * (a + b) for c, (a, b) in zip(common, sizes))
        precision = sum(common) / max(1, sum(a for a, _ in sizes))
        recall = sum(common) / max(1, sum(b for _, b in sizes))
        print(f"{name}: precision {precision:.4f}, recall {recall:.4f}, pages at F1 0.99 {alike / len(pages):.3f}")


if __name__ == "__main__":
    main()
