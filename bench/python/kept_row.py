"""The task "drop near-duplicates and name the row that is kept", as people write it with Hapax, rensa and datasketch.

    python3 bench/python/kept_row.py DOCS.jsonl [--pairs PAIRS.tsv] [--wheel WHEEL]

DOCS.jsonl has `id` and `html` or `text` a line; texts of HTML are extracted once, by Hapax, for all. PAIRS.tsv has
`id1`, `id2` and `jaccard5` of pairs that are near-duplicates, in the data sets of the comparison. Each way runs in a process of its own, from
the texts in a list to a dict of removed and kept rows; CPU time and peak memory are of the whole process. Removed rows are scored by the exact
similarity (runs of five words) with the row that is named: below 0.6 they are wrong.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import binding

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "compare"))
import score  # noqa: E402

PEERS = ["rensa==0.5.0", "datasketch==2.0.0", "numpy==2.4.6"]

WAYS = {
    "hapax": """
import hapax
found = hapax.dedup(texts)
kept = {gone.row: gone.kept_row for gone in found.removed}
""",
    "rensa": """
import rensa
index = rensa.RMinHashLSH(0.8, 128, 16)
hashes, kept = {}, {}
for row, text in enumerate(texts):
    words = text.lower().split()
    one = rensa.RMinHash(128, 42)
    one.update([" ".join(words[at : at + 5]) for at in range(max(1, len(words) - 4))])
    near = [(hashes[other].jaccard(one), -other) for other in index.query(one) if other in hashes]
    if near and max(near)[0] >= 0.8:
        kept[row] = -max(near)[1]
    else:
        index.insert(row, one)
        hashes[row] = one
""",
    "datasketch": """
from datasketch import MinHash, MinHashLSH
index = MinHashLSH(threshold=0.8, num_perm=128)
hashes, kept = {}, {}
for row, text in enumerate(texts):
    words = text.lower().split()
    one = MinHash(128)
    one.update_batch([" ".join(words[at : at + 5]).encode() for at in range(max(1, len(words) - 4))])
    near = [(hashes[other].jaccard(one), -other) for other in index.query(one)]
    if near and max(near)[0] >= 0.8:
        kept[row] = -max(near)[1]
    else:
        index.insert(row, one)
        hashes[row] = one
""",
}


def runs(text):
    words = re.findall(r"\w+", text.lower())
    return {hash(tuple(words[at : at + 5])) for at in range(max(1, len(words) - 4))}


def similarity(one, other):
    one, other = runs(one), runs(other)
    return len(one & other) / len(one | other)


def prepare(docs, out):
    """Writes the texts, a JSON string a line, and gives the ids."""
    import hapax

    by, ids = hapax.Fingerprinter(), []
    with open(docs, encoding="utf-8") as lines, open(out, "w", encoding="utf-8") as texts:
        for line in lines:
            page = json.loads(line)
            ids.append(page["id"])
            texts.write(json.dumps(page["text"] if "text" in page else by.extract(page["html"])) + "\n")
    return ids


def near_pairs(path, ids):
    """Rows of pairs that nobody should leave."""
    rows = {name: row for row, name in enumerate(ids)}
    with open(path, encoding="utf-8") as lines:
        columns = next(lines).rstrip("\n").split("\t")
        pairs = [dict(zip(columns, line.rstrip("\n").split("\t"))) for line in lines]
    return [(rows[pair["id1"]], rows[pair["id2"]]) for pair in pairs if float(pair["jaccard5"]) >= score.SURELY]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("docs", type=pathlib.Path)
    arguments.add_argument("--pairs", type=pathlib.Path)
    arguments.add_argument("--wheel", type=pathlib.Path)
    arguments.add_argument("--way", choices=WAYS)
    arguments.add_argument("--out", type=pathlib.Path)
    given = arguments.parse_args()
    if given.way:
        with open(given.docs, encoding="utf-8") as lines:
            texts = [json.loads(line) for line in lines]
        names = {"texts": texts}
        exec(WAYS[given.way], names)
        given.out.write_text(json.dumps(list(names["kept"].items())))
        return
    if "BENCH_READY" not in os.environ:
        python = binding.environment(given.wheel)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)
        os.execve(python, [python, __file__, *sys.argv[1:]], {**os.environ, "BENCH_READY": "1"})
    with tempfile.TemporaryDirectory() as scratch:
        table = pathlib.Path(scratch, "texts.jsonl")
        ids = prepare(given.docs, table)
        # A child's peak counts what its parent held when it was started, so before the texts are here.
        ran = {}
        for way in WAYS:
            out = pathlib.Path(scratch, "kept.json")
            _, cpu, peak = binding.watched([sys.executable, __file__, table, "--way", way, "--out", out])
            ran[way] = cpu, peak, dict(json.loads(out.read_text()))
        with open(table, encoding="utf-8") as lines:
            texts = [json.loads(line) for line in lines]
        pairs = near_pairs(given.pairs, ids) if given.pairs else []
        print(f"{len(texts)} texts, {sum(map(len, texts)) / 1e6:.1f} million characters, {len(pairs)} pairs of at least {score.SURELY}\n")
        print(f"| way | lines | CPU s | peak MB | removed | at least {score.UNLIKE} | at least {score.ALIKE} | pairs left |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
        for way, code in WAYS.items():
            cpu, peak, kept = ran[way]
            alike = [similarity(texts[row], texts[named]) for row, named in kept.items()]
            possible, certain = (sum(it >= least for it in alike) / max(1, len(alike)) for least in (score.UNLIKE, score.ALIKE))
            assert not any(named in kept for named in kept.values()), f"{way} names rows that it removes"
            left = sum(a not in kept and b not in kept for a, b in pairs)
            lines = len(code.strip().splitlines())
            print(f"| {way} | {lines} | {cpu:.1f} | {peak:.0f} | {len(kept)} | {possible:.4f} | {certain:.4f} | {left} |", flush=True)


if __name__ == "__main__":
    main()
