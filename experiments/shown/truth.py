"""A set whose truth is stated in what a reader sees: for evaluating text extraction that leaves hidden text out.

Reads JSON lines (`id`, `url`, `html`). Writes them again without the elements that Chromium, running no scripts, does not
display or make visible, and all pairs with an exact similarity (`crates/hapax-eval/src/reference.rs`) of at least 0.5.

    python3 truth.py docs.jsonl shown-docs.jsonl shown-refpairs.tsv
"""

import collections
import html
import json
import math
import re
import sys

from shown import chromium

STRIPPED = """(() => {
  const hides = (it) => {
    const style = frame.contentWindow.getComputedStyle(it);
    return style.display === "none" || style.visibility === "hidden";
  };
  const kept = ["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE"];
  const all = [...(page.body ? page.body.querySelectorAll("*") : [])];
  all.filter((it) => !kept.includes(it.tagName) && hides(it)).forEach((it) => it.remove());
  return page.documentElement.outerHTML;
})()"""
MAY_HIDE = re.compile(r"<[a-z0-9]+[^>]*\shidden|style=[^>]*(display|visibility)|<style|<dialog", re.I)
HAN_AND_KANA = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
TOKEN = re.compile(f"[{HAN_AND_KANA}]|[^\\W_{HAN_AND_KANA}]+")
LEAST = 0.5
FEWEST = 10


def runs(page):
    page = re.sub(r"<!--.*?-->", " ", page, flags=re.S)
    page = re.sub(r"<(script|style)\b.*?</\1\s*>", " ", page, flags=re.S | re.I)
    tokens = TOKEN.findall(html.unescape(re.sub(r"<[^>]*>", " ", page)).lower())
    return {tuple(tokens[at : at + 5]) for at in range(max(1, len(tokens) - 4))}


def alike(sets):
    """All pairs at LEAST and above: two such sets share one of the rarest runs of each."""
    counts = collections.Counter(run for one in sets for run in one)
    holders = collections.defaultdict(list)
    for at in sorted(range(len(sets)), key=lambda it: len(sets[it])):
        size = len(sets[at])
        rarest = sorted(sets[at], key=lambda run: (counts[run], run))[: size - math.ceil(LEAST * size) + 1]
        for other in {other for run in rarest for other in holders[run] if len(sets[other]) >= LEAST * size}:
            both = len(sets[at] & sets[other])
            if both >= LEAST * (size + len(sets[other]) - both):
                yield min(at, other), max(at, other), both
        for run in rarest:
            holders[run].append(at)


def main():
    source, out, table = sys.argv[1:]
    with open(source, encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    doubtful = [one for one in documents if MAY_HIDE.search(one["html"])]
    for one, stripped in zip(doubtful, chromium([one["html"] for one in doubtful], STRIPPED)):
        one["html"] = stripped
    with open(out, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in documents)
    named = [(one["id"], found) for one in documents if len(found := runs(one["html"])) >= FEWEST]
    with open(table, "w", encoding="utf-8") as file:
        file.write("id1\tid2\tjaccard5\tcontain5\n")
        for a, b, both in alike([found for _, found in named]):
            sizes = len(named[a][1]), len(named[b][1])
            file.write(f"{named[a][0]}\t{named[b][0]}\t{both / (sum(sizes) - both):.4f}\t{both / min(sizes):.4f}\n")


if __name__ == "__main__":
    main()
