"""Groups of near-duplicates by MinHash, for `hapax eval --other NAME=FILE`.

Gives MinHash every advantage: it sees exactly the runs of five tokens that truth is stated in, its bands are
chosen by the library for each threshold, and with --verify a candidate must also have an estimate above the
threshold. Groups are connected components, as its users make them; the first document of a group stays.

    pip install datasketch==2.0.0 rensa==0.5.0 numpy==2.4.6
    python3 minhash.py docs.jsonl --library datasketch --perms 256 --threshold 0.8 --verify --out groups.tsv

Prints seconds for signatures, seconds for searching, and bytes of a signature for each document.
"""

import argparse
import html
import json
import re
import sys
import time

TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")


def runs(text, is_html):
    if is_html:
        text = re.sub(r"<!--.*?-->", " ", text, flags=re.S)
        text = re.sub(r"<(script|style)\b.*?</\1\s*>", " ", text, flags=re.S | re.I)
        text = html.unescape(re.sub(r"<[^>]*>", " ", text))
    tokens = TOKEN.findall(text.lower())
    if len(tokens) < 5:
        return {" ".join(tokens)} if tokens else set()
    return {" ".join(tokens[i : i + 5]) for i in range(len(tokens) - 4)}


def signatures(sets, library, perms):
    if library == "datasketch":
        from datasketch import MinHash

        for name, found in sets:
            signature = MinHash(num_perm=perms, seed=1)
            signature.update_batch([it.encode() for it in found])
            yield name, signature
    else:
        from rensa import RMinHash

        for name, found in sets:
            signature = RMinHash(num_perm=perms, seed=1)
            signature.update(list(found))
            yield name, signature


def candidates(all_signatures, library, perms, threshold):
    """For each document, the earlier ones that share a band."""
    if library == "datasketch":
        from datasketch import MinHashLSH

        index = MinHashLSH(threshold=threshold, num_perm=perms)
        for at, (_, signature) in enumerate(all_signatures):
            yield at, index.query(signature)
            index.insert(at, signature)
    else:
        from rensa import RMinHashLSH

        # The library takes a number of bands; the one whose curve is steepest at the threshold.
        bands = min(
            (b for b in range(2, perms + 1) if perms % b == 0),
            key=lambda b: abs((1 / b) ** (b / perms) - threshold),
        )
        index = RMinHashLSH(threshold=threshold, num_perm=perms, num_bands=bands)
        for at, (_, signature) in enumerate(all_signatures):
            yield at, index.query(signature)
            index.insert(at, signature)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("docs")
    parser.add_argument("--library", choices=["datasketch", "rensa"], default="datasketch")
    parser.add_argument("--perms", type=int, default=256)
    parser.add_argument("--threshold", type=float, nargs="+", default=[0.8])
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--out", required=True, help="{} stands for the threshold")
    options = parser.parse_args()

    sets = []
    for line in open(options.docs, encoding="utf-8"):
        document = json.loads(line)
        is_html = "html" in document
        found = runs(document["html"] if is_html else document["text"], is_html)
        if found:
            sets.append((document["id"], found))
    start = time.time()
    made = list(signatures(sets, options.library, options.perms))
    signing = time.time() - start
    for threshold in options.threshold:
        start = time.time()
        parent = list(range(len(made)))

        def first(x):
            while parent[x] != x:
                parent[x] = parent[parent[x]]
                x = parent[x]
            return x

        for at, others in candidates(made, options.library, options.perms, threshold):
            for other in others:
                if options.verify and made[at][1].jaccard(made[other][1]) < threshold:
                    continue
                a, b = first(at), first(other)
                parent[max(a, b)] = min(a, b)
        searching = time.time() - start
        with open(options.out.replace("{}", str(threshold)), "w", encoding="utf-8") as out:
            for at, (name, _) in enumerate(made):
                out.write(f"{name}\t{first(at)}\n")
        width = 8 if options.library == "datasketch" else 4
        print(
            f"{options.docs} {options.library} {options.perms} {threshold} verify={options.verify} "
            f"documents={len(made)} signing={signing:.1f}s searching={searching:.1f}s "
            f"signature={width * options.perms} bytes",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
