"""Sets of pages with known similar pairs.

A set is a folder with `docs.jsonl` (`id`, and `html`; `article_text` if the article was extracted by hand) and, if
known, `refpairs.tsv` (`id1 id2 jaccard5 ...`, every pair from 0.5) and `pairs.tsv` (`id1 id2 label jaccard5 ...`); each may be
compressed with zstd. Without `refpairs.tsv` all pairs are compared here, exactly. The bundled examples are such a set.

Similarity is that of `crates/hapax-eval/src/reference.rs`, written independently: without tags, entities decoded, lower case, runs of
letters and digits, each Chinese or Japanese character a token; Jaccard similarity of the sets of runs of five tokens.
"""

import collections
import dataclasses
import html
import json
import pathlib
import re
import subprocess

TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
HIDDEN = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>", re.S | re.I)
TAG = re.compile(r"<[^>]*>")
RUN = 5
# Files of pairs contain no pairs below this similarity.
LEAST = 0.5


@dataclasses.dataclass
class Pages:
    """Pages in a file, and pairs of them by position with their exact similarity."""

    name: str
    path: pathlib.Path
    ids: list
    pairs: list
    articles: dict
    size: int


def unpacked(folder, name):
    """Lines of a file that may be compressed; none if it does not exist."""
    if (folder / name).exists():
        with open(folder / name, encoding="utf-8") as lines:
            yield from lines
    elif (folder / f"{name}.zst").exists():
        command = ["zstd", "-dcq", "--long=27", folder / f"{name}.zst"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
            yield from process.stdout


def read(folder, scratch):
    """Reads a set; its pages are written to a file that every contender reads."""
    path = scratch / f"{folder.name}.jsonl"
    positions, articles, documents = {}, {}, []
    with open(path, "w", encoding="utf-8") as out:
        for line in unpacked(folder, "docs.jsonl"):
            document = json.loads(line)
            if "html" not in document:
                continue
            if document.get("article_text"):
                articles[document["id"]] = document["article_text"]
            positions[document["id"]] = len(positions)
            documents.append(document["html"])
            out.write(json.dumps({"id": document["id"], "html": document["html"]}, ensure_ascii=False) + "\n")
    if not positions:
        raise SystemExit(f"{folder} holds no pages: a set has docs.jsonl or docs.jsonl.zst, with `id` and `html` a line")
    pairs = {}
    for name, column in [("refpairs.tsv", 2), ("pairs.tsv", 3)]:
        lines = unpacked(folder, name)
        next(lines, None)
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields[0] in positions and fields[1] in positions:
                pairs[positions[fields[0]], positions[fields[1]]] = float(fields[column])
    if not any(folder.glob("refpairs.tsv*")):
        pairs = dict(all_pairs(documents))
    ids = list(positions)
    return Pages(folder.name, path, ids, [(a, b, s) for (a, b), s in pairs.items()], articles, path.stat().st_size)


def runs(page):
    """The set of runs of five tokens of a page."""
    tokens = TOKEN.findall(html.unescape(TAG.sub(" ", HIDDEN.sub(" ", page))).lower())
    if len(tokens) < RUN:
        return {tuple(tokens)} if tokens else set()
    return {tuple(tokens[i : i + RUN]) for i in range(len(tokens) - RUN + 1)}


def all_pairs(documents):
    """Every pair that shares a run, with its similarity; all others have similarity 0."""
    sets = [runs(document) for document in documents]
    holders = collections.defaultdict(list)
    shared = collections.Counter()
    for at, found in enumerate(sets):
        for run in found:
            for earlier in holders[run]:
                shared[earlier, at] += 1
            holders[run].append(at)
    for (a, b), both in shared.items():
        yield (a, b), both / (len(sets[a]) + len(sets[b]) - both)


def words(text):
    """Words with their number of occurrences, tokenized like the truth."""
    return collections.Counter(TOKEN.findall(text.lower()))
