"""What the Python package costs beside the engine it binds: fingerprints a second, and a corpus cleaned end to end.

    python3 bench/python/binding.py PAGES.jsonl [--wheel WHEEL] [--first N]

PAGES.jsonl has `id` and `html` a line. All ways run in one run, in an environment that is made in bench/out on first use; the
wheel is the one that `cargo xtask test python` built unless another is named. The package's peers are in bench/compare.

1. Fingerprints: the same texts, in memory, in one process; the best of five rounds in turn, so that a busy machine
   is busy for all. *rust* is the engine's own loop over the same texts, which the binding's cost is measured by.
2. Dedup: each way in a process of its own, from the file to the ids of what it removes; wall time, CPU time
   and peak memory of the process and its children. All must remove the same documents.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = ["pyarrow==26.0.1"]
ROUNDS = 5


def environment(wheel):
    folder = HERE.parent / "out" / "venv-python"
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {', '.join(PACKAGES)} into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    if wheel is None:
        wheel = next(iter((ROOT / "target/release/xtask-wheels").glob("*.whl")), None)
        if wheel is None:
            sys.exit("no wheel: run `cargo xtask test python`, or name one with --wheel")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", wheel], check=True)
    return python


# Fingerprints.


def makers(texts):
    """Name, what is made, and a function that makes it of all texts and gives seconds."""
    import pyarrow

    import hapax

    by = hapax.Fingerprinter()
    arrow = pyarrow.array(texts, pyarrow.large_string())
    cores = os.cpu_count()

    def timed(work):
        def seconds():
            start = time.perf_counter()
            made = work()
            took = time.perf_counter() - start
            assert len(made) == len(texts)
            return took

        return seconds

    ours = "fingerprint, weak bits, sketch, content hash"
    return [
        ("rust", ours, lambda: by._core._seconds_in_rust(texts, "text")),
        ("hapax, list", ours, timed(lambda: by.fingerprints(texts))),
        ("hapax, Arrow", ours, timed(lambda: by.fingerprints(arrow))),
        (f"hapax, list, {cores} threads", ours, timed(lambda: by.fingerprints(texts, threads=0))),
        (f"hapax, Arrow, {cores} threads", ours, timed(lambda: by.fingerprints(arrow, threads=0))),
        ("hapax, list of Signature", ours, timed(lambda: by.signatures(texts))),
        ("hapax, one call each", ours, timed(lambda: [by.text(text) for text in texts])),
    ]


def fingerprints(pages, count):
    import hapax

    by = hapax.Fingerprinter()
    with open(pages, encoding="utf-8") as lines:
        texts = [by.extract(json.loads(line)["html"]) for line in itertools.islice(lines, count)]
    size = sum(len(text.encode()) for text in texts)
    best = {}
    all_makers = makers(texts)
    for _ in range(ROUNDS):
        for name, _, seconds in all_makers:
            best[name] = min(best.get(name, 1e9), seconds())
    print(f"{len(texts)} texts, {size / 1e6:.1f} MB\n")
    print("| maker | makes | texts/s | MB/s | times rust |\n| --- | --- | --- | --- | --- |")
    for name, what, _ in all_makers:
        took = best[name]
        print(f"| {name} | {what} | {len(texts) / took:,.0f} | {size / took / 1e6:.1f} | {took / best['rust']:.2f} |")
    print(flush=True)


# Dedup, from a file to the ids of what goes.


def hapax_removed(pages):
    import hapax

    return hapax.dedup(pathlib.Path(pages), progress=False).removed.column("document").to_pylist()


def hapax_table_removed(pages):
    import pyarrow.json

    import hapax

    options = pyarrow.json.ReadOptions(block_size=64 << 20)
    table = pyarrow.json.read_json(pages, read_options=options)
    removed = hapax.dedup(table, progress=False).removed
    return table.column("id").take(removed.column("row")).to_pylist()


WAYS = {
    "hapax.dedup(path)": hapax_removed,
    "hapax.dedup(table)": hapax_table_removed,
}


def cleaning(pages, scratch):
    with open(pages, "rb") as lines:
        count = sum(1 for _ in lines)
    print("| way | pages | wall s | CPU s | times the first | peak MB | removed |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    first = None
    for name in WAYS:
        out = scratch / "removed.json"
        wall, cpu, peak = watched([sys.executable, __file__, pages, "--way", name, "--out", out])
        removed = set(json.loads(out.read_text()))
        first = first or (cpu, removed)
        assert removed == first[1], f"{name} removes other documents"
        print(f"| {name} | {count} | {wall:.1f} | {cpu:.1f} | {cpu / first[0]:.1f} | {peak:.0f} | {len(removed)} |", flush=True)


def watched(command):
    """Wall seconds, CPU seconds and peak MB of a command."""
    start = time.perf_counter()
    child = subprocess.Popen([str(word) for word in command])
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command} failed")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pages", type=pathlib.Path)
    arguments.add_argument("--wheel", type=pathlib.Path)
    arguments.add_argument("--first", type=int, default=2000, help="texts for the fingerprints")
    arguments.add_argument("--only", choices=["fingerprints", "dedup"])
    arguments.add_argument("--way", choices=WAYS)
    arguments.add_argument("--out", type=pathlib.Path)
    given = arguments.parse_args()
    if given.way:
        given.out.write_text(json.dumps(WAYS[given.way](given.pages)))
        return
    if "BENCH_READY" not in os.environ:
        python = environment(given.wheel)
        os.execve(python, [python, __file__, *sys.argv[1:]], {**os.environ, "BENCH_READY": "1"})
    if given.only != "dedup":
        fingerprints(given.pages, given.first)
    if given.only != "fingerprints":
        with tempfile.TemporaryDirectory(dir=HERE.parent / "out") as scratch:
            cleaning(given.pages, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
