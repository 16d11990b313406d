"""The Python package beside its peers from PyPI: fingerprints a second, and a corpus cleaned end to end.

    python3 bench/python/compare.py PAGES.jsonl [--truth TRUTH.tsv] [--wheel WHEEL] [--first N]

PAGES.jsonl has `id` and `html` a line, as for bench/dedup/compare.py, whose measuring and judging this uses. All
contenders run in one run, in an environment that is made in bench/out on first use; the wheel is the one that
`cargo xtask test python` built unless another is named.

1. Fingerprints: the same texts, in memory, in one process; the best of five rounds in turn, so that a busy machine
   is busy for all. *rust* is the engine's own loop over the same texts, which the binding's cost is measured by.
2. Dedup: each contender in a process of its own, from the file to the ids of what it removes; wall time, CPU time
   and peak memory of the process and its children. Peers get text from selectolax. *right* and *met* are explained
   in bench/dedup/compare.py.
"""

import argparse
import importlib.util
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
PACKAGES = ["datasketch==2.0.0", "rensa==0.5.0", "simhash==2.1.2", "selectolax==1.0.2", "pyarrow==26.0.1"]
ROUNDS = 5


def neighbour():
    """bench/dedup/compare.py: how to measure and how to judge."""
    spec = importlib.util.spec_from_file_location("dedup_compare", HERE.parent / "dedup" / "compare.py")
    module = importlib.util.module_from_spec(spec)
    # Its pools find its functions by this name.
    sys.modules["dedup_compare"] = module
    spec.loader.exec_module(module)
    return module


dedup = neighbour()


def environment(wheel):
    folder = HERE.parent / "out" / "venv-python"
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {', '.join(PACKAGES)} into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    if wheel is None:
        wheel = next(iter((ROOT / "target/release/xtask-wheel/wheels").glob("*.whl")), None)
        if wheel is None:
            sys.exit("no wheel: run `cargo xtask test python`, or name one with --wheel")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", wheel], check=True)
    return python


# Fingerprints.


def makers(texts):
    """Name, what is made, and a function that makes it of all texts and gives seconds."""
    import datasketch
    import pyarrow
    import rensa
    import simhash

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

    def minhashes():
        made = []
        for text in texts:
            one = datasketch.MinHash(128)
            one.update_batch([shingle.encode() for shingle in dedup.shingles(text)])
            made.append(one)
        return made

    def rensas():
        return [text for some in in_parts(texts) for text in digest(some)]

    def digest(some):
        rensa.RMinHash.digest_matrix_from_token_sets([dedup.shingles(text) for text in some], 128, 42)
        return some

    ours = "fingerprint, weak bits, sketch, content hash"
    return [
        ("rust", ours, lambda: by._core._seconds_in_rust(texts, "text")),
        ("hapax, list", ours, timed(lambda: by.fingerprints(texts))),
        ("hapax, Arrow", ours, timed(lambda: by.fingerprints(arrow))),
        (f"hapax, list, {cores} threads", ours, timed(lambda: by.fingerprints(texts, threads=0))),
        (f"hapax, Arrow, {cores} threads", ours, timed(lambda: by.fingerprints(arrow, threads=0))),
        ("hapax, list of Imprint", ours, timed(lambda: by.imprints(texts))),
        ("hapax, one call each", ours, timed(lambda: [by.text(text) for text in texts])),
        ("rensa 0.5.0", "128 minima of 5-word shingles", timed(rensas)),
        ("datasketch 2.0.0", "128 minima of 5-word shingles", timed(minhashes)),
        # Given the text itself it fails with NumPy 2, where a weight is above 255.
        ("simhash 2.1.2", "64 bits of the words", timed(lambda: [simhash.Simhash(words(t)) for t in texts])),
    ]


def words(text):
    return text.lower().split()


def in_parts(texts):
    for start in range(0, len(texts), dedup.TOGETHER):
        yield texts[start : start + dedup.TOGETHER]


def fingerprints(pages, count):
    import hapax

    by = hapax.Fingerprinter()
    with open(pages, encoding="utf-8") as lines:
        texts = [by.purify(json.loads(line)["html"]) for line in itertools.islice(lines, count)]
    size = sum(len(text.encode()) for text in texts)
    best = {}
    all_makers = makers(texts)
    for turn in range(ROUNDS):
        for name, _, seconds in all_makers:
            # Peers that take many times as long are not made to do it five times.
            if turn == 0 or best[name] < 20 * best["rust"]:
                best[name] = min(best.get(name, 1e9), seconds())
    print(f"{len(texts)} texts, {size / 1e6:.1f} MB\n")
    print("| maker | makes | texts/s | MB/s | time beside rust |\n| --- | --- | --- | --- | --- |")
    for name, what, _ in all_makers:
        took = best[name]
        print(f"| {name} | {what} | {len(texts) / took:,.0f} | {size / took / 1e6:.1f} | {took / best['rust']:.2f} |")
    print(flush=True)


# Dedup, from a file to the ids of what goes.


def hapax_removed(pages):
    import hapax

    return hapax.dedup(pages, progress=False).removed.column("document").to_pylist()


def hapax_table_removed(pages):
    import pyarrow.json

    import hapax

    options = pyarrow.json.ReadOptions(block_size=64 << 20)
    table = pyarrow.json.read_json(pages, read_options=options)
    return hapax.dedup(table, progress=False).removed.column("document").to_pylist()


def datasketch_removed(pages):
    import datasketch

    index = datasketch.MinHashLSH(threshold=0.8, num_perm=128)
    removed = []
    for name, text in dedup.texts(pages):
        made = datasketch.MinHash(128)
        made.update_batch([shingle.encode() for shingle in dedup.shingles(text)])
        if index.query(made):
            removed.append(name)
        index.insert(name, made, check_duplication=False)
    return removed


def simhash_removed(pages):
    import simhash

    index = simhash.SimhashIndex([], k=3)
    removed = []
    for name, text in dedup.texts(pages):
        made = simhash.Simhash(words(text))
        if index.get_near_dups(made):
            removed.append(name)
        index.add(name, made)
    return removed


CONTENDERS = {
    "hapax.dedup(path)": hapax_removed,
    "hapax.dedup(table)": hapax_table_removed,
    "rensa 0.5.0": dedup.rensa_removed,
    "datasketch 2.0.0": datasketch_removed,
    "simhash 2.1.2": simhash_removed,
}


def cleaning(pages, truth, scratch):
    with open(pages, "rb") as lines:
        count = sum(1 for _ in lines)
    print("| tool | pages | wall s | CPU s | times ours | CPU times ours | peak MB | removed | right | met |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    ours = None
    for name in CONTENDERS:
        out = scratch / "removed.json"
        command = [sys.executable, __file__, pages, "--contender", name, "--out", out]
        wall, cpu, peak = dedup.run(command)
        ours = ours or (wall, cpu)
        removed = set(json.loads(out.read_text()))
        right, met = dedup.judged(removed, truth, pages, count)
        print(
            f"| {name} | {count} | {wall:.1f} | {cpu:.1f} | {wall / ours[0]:.1f} | {cpu / ours[1]:.1f} | {peak:.0f} "
            f"| {len(removed)} | {right} | {met} |",
            flush=True,
        )


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pages", type=pathlib.Path)
    arguments.add_argument("--truth", type=pathlib.Path)
    arguments.add_argument("--wheel", type=pathlib.Path)
    arguments.add_argument("--first", type=int, default=2000, help="texts for the fingerprints")
    arguments.add_argument("--only", choices=["fingerprints", "dedup"])
    arguments.add_argument("--contender", choices=CONTENDERS)
    arguments.add_argument("--out", type=pathlib.Path)
    given = arguments.parse_args()
    if given.contender:
        given.out.write_text(json.dumps(CONTENDERS[given.contender](given.pages)))
        return
    if "BENCH_READY" not in os.environ:
        python = environment(given.wheel)
        os.execve(python, [python, __file__, *sys.argv[1:]], {**os.environ, "BENCH_READY": "1"})
    if given.only != "dedup":
        fingerprints(given.pages, given.first)
    if given.only != "fingerprints":
        with tempfile.TemporaryDirectory(dir=HERE.parent / "out") as scratch:
            cleaning(given.pages, given.truth, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
