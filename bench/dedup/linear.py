"""Time and memory a page on corpora that invite quadratic work.

    python3 bench/dedup/linear.py [PAGES]...      (default 100000 300000 1000000)

*repeat*: one page of 150 words again and again. *template*: 150 words around a number that differs. *short*: the
same with 40 words, where texts are near the least similarity and fingerprints are few. Each corpus is made,
cleaned on all cores and removed again. CPU time and peak memory are those of the process; `compared` is the
number of sketches compared, from its summary.
"""

import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "bench" / "out"


def words(count, source):
    letters = "abcdefghijklmnopqrstuvwxyz"
    return " ".join("".join(source.choices(letters, k=source.randint(3, 9))) for _ in range(count))


def write(kind, count, path):
    source = random.Random(5)
    half = 20 if kind == "short" else 75
    head, tail = words(half, source), words(half, source)
    with open(path, "w", encoding="utf-8") as out:
        for i in range(count):
            number = 0 if kind == "repeat" else i
            html = f"<html><body><p>{head} {number} {tail}</p></body></html>"
            out.write(f'{{"id":"{i:07}","url":"http://h{i % 5000}.test/p/{i}","html":"{html}"}}\n')


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    counts = [int(float(count)) for count in sys.argv[1:]] or [100_000, 300_000, 1_000_000]
    OUT.mkdir(exist_ok=True)
    print("| corpus | pages | kept | wall µs a page | CPU µs a page | deciding, wall µs | compared a page | peak bytes a page |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind in ("repeat", "template", "short"):
        for count in counts:
            pages, out = OUT / f"{kind}.jsonl", OUT / f"{kind}.out"
            shutil.rmtree(out, ignore_errors=True)
            write(kind, count, pages)
            start, before = time.perf_counter(), cpu()
            program = ROOT / "target" / "release" / "hapax"
            subprocess.run([program, "dedup", pages, "--out", out, "-q"], check=True)
            wall, used = time.perf_counter() - start, cpu() - before
            run = json.loads((out / "run.json").read_text())
            summary = json.loads((out / "summary.json").read_text())
            assert kind == "short" or summary["kept"] == 1, summary
            micros = [wall, used, run["deciding_seconds"]]
            cells = " | ".join(f"{seconds / count * 1e6:.1f}" for seconds in micros)
            print(f"| {kind} | {count} | {summary['kept']} | {cells} | {summary['compared_pairs'] / count:.1f} "
                  f"| {run['peak_memory'] / count:.0f} |", flush=True)
            os.remove(pages)
            shutil.rmtree(out)


if __name__ == "__main__":
    main()
