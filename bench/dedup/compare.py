"""Corpus deduplication from HTML to the list of removed documents, beside rensa and text-dedup.

    python3 bench/dedup/compare.py PAGES.jsonl [--truth REFPAIRS.tsv]

PAGES.jsonl has `id` and `html` a line. Each tool runs in a process of its own on all cores,
from the same file to its removed documents; time is wall time, memory the peak of the process
and its largest child. With --truth (`id1 id2 jaccard5` a line, all pairs at 0.5 and above) each
row says how many removed documents really have a partner at 0.8 or above, and for how many of
the pairs at 0.9 and above at least one side was removed. The peers get text from selectolax, in
as many processes as there are cores. Installs the peers into bench/out on first use.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = ["rensa==0.5.0", "text-dedup==0.4.0", "selectolax==1.0.2", "pyarrow"]


def environment():
    folder = HERE.parent / "out" / "venv-dedup"
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {', '.join(PACKAGES)} into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def run(command, **options):
    """Wall seconds, peak MB and standard output."""
    probe = (
        "import resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "code = subprocess.run(sys.argv[1:]).returncode\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print('\\n@', time.perf_counter() - start, peak, file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *map(str, command)], capture_output=True, text=True, **options
    )
    if done.returncode != 0:
        sys.exit(f"{command} failed:\n{done.stderr[-3000:]}")
    _, seconds, peak = done.stderr.rsplit("@", 1)[0], *done.stderr.rsplit("@", 1)[1].split()
    return float(seconds), int(peak) / 1024, done.stdout


def hapax(pages, scratch):
    program = ROOT / "target" / "release" / "hapax"
    out = scratch / "hapax"
    seconds, peak, _ = run([program, "dedup", pages, "--out", out])
    import pyarrow.parquet as parquet

    removed = parquet.read_table(out / "removed.parquet").column(0).to_pylist()
    return seconds, peak, set(removed)


def peer(name):
    def measure(pages, scratch):
        out = scratch / f"{name}.json"
        seconds, peak, _ = run([sys.executable, __file__, "--peer", name, pages, "--out", out])
        return seconds, peak, set(json.loads(out.read_text()))

    return measure


def text_of(line):
    from selectolax.lexbor import LexborHTMLParser

    page = json.loads(line)
    body = LexborHTMLParser(page["html"]).body
    return page["id"], body.text(separator=" ") if body else ""


def texts(pages):
    import multiprocessing

    with open(pages, encoding="utf-8") as lines, multiprocessing.Pool() as pool:
        yield from pool.imap(text_of, lines, chunksize=64)


def shingles(text):
    words = text.lower().split()
    return [" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4))] if words else []


def rensa_removed(pages):
    """rensa's batch path: all digests at once, then one pass of flags."""
    import rensa

    ids, sets = [], []
    for name, text in texts(pages):
        ids.append(name)
        sets.append(shingles(text))
    digests = rensa.RMinHash.digest_matrix_from_token_sets(sets, 128, 42)
    index = rensa.RMinHashLSH(0.8, 128, 16)
    flags = index.insert_matrix_and_query_duplicate_flags(digests)
    return [name for name, flag in zip(ids, flags) if flag]


def text_dedup_removed(pages):
    """text-dedup's MinHash program on the extracted texts, defaults but for the threshold."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        names = []
        with open(folder / "texts.jsonl", "w", encoding="utf-8") as out:
            for name, text in texts(pages):
                names.append(name)
                out.write(json.dumps({"id": name, "text": text}) + "\n")
        subprocess.run(
            [sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--data_files",
             folder / "texts.jsonl", "--split", "train", "--column", "text", "--output", folder / "kept",
             "--cache_dir", folder / "cache", "--threshold", "0.8", "--num_proc", str(os.cpu_count())],
            check=True, stdout=sys.stderr,
        )
        from datasets import load_from_disk

        kept = set(load_from_disk(str(folder / "kept"))["id"])
        return [name for name in names if name not in kept]


def judged(removed, truth):
    if truth is None:
        return "-", "-"
    at_80, right, at_90, met = set(), 0, 0, 0
    with open(truth, encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            a, b, jaccard = line.rstrip("\n").split("\t")[:3]
            if float(jaccard) >= 0.8:
                at_80.update((a, b))
            if float(jaccard) >= 0.9:
                at_90 += 1
                met += a in removed or b in removed
    right = sum(name in at_80 for name in removed)
    return f"{right / max(1, len(removed)):.4f}", f"{met / max(1, at_90):.4f}"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pages", type=pathlib.Path)
    arguments.add_argument("--truth", type=pathlib.Path)
    arguments.add_argument("--peer", choices=["rensa", "text-dedup"])
    arguments.add_argument("--out", type=pathlib.Path)
    given = arguments.parse_args()
    if given.peer:
        work = {"rensa": rensa_removed, "text-dedup": text_dedup_removed}[given.peer]
        given.out.write_text(json.dumps(work(given.pages)))
        return
    python = environment()
    if pathlib.Path(sys.prefix) != python.parent.parent:
        os.execv(python, [python, __file__, *sys.argv[1:]])
    count = sum(1 for _ in open(given.pages, "rb"))
    print("| tool | s | times ours | peak MB | removed | right (0.8) | met (0.9) |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    ours = None
    with tempfile.TemporaryDirectory() as scratch:
        tools = [("hapax dedup", hapax), ("rensa 0.5.0", peer("rensa")), ("text-dedup 0.4.0", peer("text-dedup"))]
        for name, tool in tools:
            seconds, peak, removed = tool(given.pages, pathlib.Path(scratch))
            ours = ours or seconds
            right, met = judged(removed, given.truth)
            print(f"| {name} | {seconds:.1f} | {seconds / ours:.1f} | {peak:.0f} | {len(removed)} | {right} | {met} |", flush=True)
    print(f"\n{count} pages, {given.pages.stat().st_size / 1e6:.0f} MB, {os.cpu_count()} cores", file=sys.stderr)


if __name__ == "__main__":
    main()
