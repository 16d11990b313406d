"""Corpus deduplication from HTML to the list of removed documents, beside rensa and text-dedup.

    python3 bench/dedup/compare.py PAGES.jsonl [--truth TRUTH.tsv] [--text-dedup PAGES] [--threads]

PAGES.jsonl has `id` and `html` a line: real pages from real.py, or a synthetic web from hapax-synth's example
write_web. Each tool runs in a process of its own on all cores, from the same file to its removed documents.
Time is wall time and CPU time of all its processes, memory the peak of the largest of them. The peers get
text from selectolax, in as many processes as there are cores. text-dedup may be given the first PAGES
pages only; its row says so, and `times ours` is per page.

Truth is one of two tables. All pairs at 0.5 and above (`id1 id2 jaccard5`, with a heading): *right* is the share of
removed documents with a partner at 0.8 or above, among documents that the table knows, and *met* the share of pairs
at 0.9 and above of which a side was removed. Or what write_web says about its pages: *right* is the share of removed
documents that have a relative, and *met* the share of copies with an expected similarity of 0.9 and above
that were removed or whose original was.

--threads adds `hapax dedup` on one thread. Installs the peers into bench/out on first use.
"""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = ["rensa==0.5.0", "text-dedup==0.4.0", "selectolax==1.0.2", "pyarrow"]
# Documents that rensa digests at a time.
TOGETHER = 10_000


def environment():
    folder = HERE.parent / "out" / "venv-dedup"
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {', '.join(PACKAGES)} into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def run(command, **options):
    """Wall seconds, CPU seconds, peak MB."""
    probe = (
        "import resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "code = subprocess.run(sys.argv[1:]).returncode\n"
        "wall = time.perf_counter() - start\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print('\\n@', wall, used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *map(str, command)], capture_output=True, text=True, **options
    )
    if done.returncode != 0:
        sys.exit(f"{command} failed:\n{done.stderr[-3000:]}")
    wall, cpu, peak = map(float, done.stderr.rsplit("@", 1)[1].split())
    return wall, cpu, peak / 1024


def hapax(*options):
    def measure(pages, scratch):
        program = ROOT / "target" / "release" / "hapax"
        out = scratch / "-".join(["hapax", *options])
        used = run([program, "dedup", pages, "--out", out, *options])
        import pyarrow.parquet as parquet

        removed = set(parquet.read_table(out / "removed.parquet").column(0).to_pylist())
        took = json.loads((out / "run.json").read_text())
        parts = [f"{took[part + '_seconds']:.1f} s {part}" for part in ("reading", "deciding", "writing")]
        print(f"{pages.name} {' '.join(options)}: {', '.join(parts)}; "
              f"{took['bytes_per_document']:.0f} bytes a page between the readings", file=sys.stderr)
        shutil.rmtree(out)
        return *used, removed

    return measure


def peer(name):
    def measure(pages, scratch):
        out = scratch / f"{name}.json"
        used = run([sys.executable, __file__, "--peer", name, pages, "--out", out])
        return *used, set(json.loads(out.read_text()))

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
    """rensa's batch path: digests and flags of many documents at once; sets of shingles are let go."""
    import rensa

    index = rensa.RMinHashLSH(0.8, 128, 16)
    removed, seen = [], 0
    all_texts = texts(pages)
    while some := list(itertools.islice(all_texts, TOGETHER)):
        sets = [shingles(text) for _, text in some]
        digests = rensa.RMinHash.digest_matrix_from_token_sets(sets, 128, 42)
        flags = index.insert_matrix_and_query_duplicate_flags(digests, seen)
        seen += len(some)
        removed.extend(name for (name, _), flag in zip(some, flags) if flag)
    return removed


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


def judged(removed, truth, path, pages):
    """The shares `right` and `met`, of the documents in the first so many lines of a file."""
    if truth is None:
        return "-", "-"
    with open(truth, encoding="utf-8") as lines:
        first = next(lines)
        if first.startswith("id1"):
            with open(path, encoding="utf-8") as documents:
                there = {json.loads(line)["id"] for line in documents}
            known, at_80, met, at_90 = set(), set(), 0, 0
            for line in lines:
                a, b, jaccard = line.rstrip("\n").split("\t")[:3]
                if a not in there or b not in there:
                    continue
                known.add(a.split("/")[0])
                if float(jaccard) >= 0.8:
                    at_80.update((a, b))
                if float(jaccard) >= 0.9:
                    at_90 += 1
                    met += a in removed or b in removed
            about = [name for name in removed if name.split("/")[0] in known or "/" not in name]
            right = sum(name in at_80 for name in about)
            return f"{right / max(1, len(about)):.4f}", f"{met / max(1, at_90):.4f}"
        families, originals, copies = {}, {}, []
        for line in itertools.chain([first], lines):
            number, family, copy, _, _, _, _, expected = line.rstrip("\n").split("\t")
            if int(number) >= pages:
                break
            families[family] = families.get(family, 0) + 1
            if copy == "0":
                originals[family] = number
            elif expected != "-" and float(expected) >= 0.9:
                copies.append((number, family))
            if number in removed:
                originals[number, "family"] = family
        right = sum(families[originals[name, "family"]] > 1 for name in removed)
        copies = [(number, originals[family]) for number, family in copies if family in originals]
        met = sum(number in removed or original in removed for number, original in copies)
        return f"{right / max(1, len(removed)):.4f}", f"{met / max(1, len(copies)):.4f}"


def beginning(pages, count, scratch):
    """The first lines as a file of their own."""
    path = scratch / f"first-{count}.jsonl"
    with open(pages, "rb") as lines, open(path, "wb") as out:
        out.writelines(itertools.islice(lines, count))
    return path


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pages", type=pathlib.Path)
    arguments.add_argument("--truth", type=pathlib.Path)
    arguments.add_argument("--text-dedup", type=int)
    arguments.add_argument("--threads", action="store_true")
    arguments.add_argument("--scratch", type=pathlib.Path, default=HERE.parent / "out")
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
    with open(given.pages, "rb") as lines:
        all_pages = sum(1 for _ in lines)
    print(f"{all_pages} pages, {given.pages.stat().st_size / 1e6:.0f} MB, {os.cpu_count()} cores\n")
    print("| tool | pages | wall s | CPU s | wall µs a page | times ours | CPU times ours | peak MB | removed | right | met |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    ours = None
    with tempfile.TemporaryDirectory(dir=given.scratch) as scratch:
        scratch = pathlib.Path(scratch)
        tools = [("hapax dedup", hapax(), all_pages)]
        if given.threads:
            tools.append(("hapax dedup, 1 thread", hapax("--threads", "1"), all_pages))
        tools.append(("rensa 0.5.0", peer("rensa"), all_pages))
        tools.append(("text-dedup 0.4.0", peer("text-dedup"), min(given.text_dedup or all_pages, all_pages)))
        for name, tool, count in tools:
            pages = given.pages if count == all_pages else beginning(given.pages, count, scratch)
            wall, cpu, peak, removed = tool(pages, scratch)
            ours = ours or (wall / count, cpu / count)
            right, met = judged(removed, given.truth, pages, count)
            times = f"{wall / count / ours[0]:.1f} | {cpu / count / ours[1]:.1f}"
            print(f"| {name} | {count} | {wall:.1f} | {cpu:.1f} | {wall / count * 1e6:.0f} | {times} | {peak:.0f} "
                  f"| {len(removed)} | {right} | {met} |", flush=True)


if __name__ == "__main__":
    main()
