"""Hapax compared with its peers: one run, one record. Started by `cargo xtask compare`, which builds what it needs.

    python3 bench/compare/compare.py --target target --out FOLDER [--full] [--data SET]... [FAMILY]...

Writes `compare.json` and `compare.md` to the folder. A quick run uses the bundled examples and 100,000 fingerprints; a full run also
the sets given with --data (defined in bench/compare/sets.py) and up to 10 million fingerprints.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

import families
import score
import record
import sets
from contender import Contender, Ground, log

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FAMILIES = ["fingerprint", "near", "dedup", "extract"]
# Stored fingerprints, distance in bits, queries of fast contenders, queries of all (the scored ones).
NEAR_QUICK = [(100_000, 3, 100_000, 1000), (100_000, 6, 20_000, 1000)]
NEAR_FULL = [*NEAR_QUICK, (1_000_000, 3, 1_000_000, 1000), (1_000_000, 6, 100_000, 500),
             (10_000_000, 3, 1_000_000, 500), (10_000_000, 6, 100_000, 200)]


def examples(ground):
    """The bundled pages as a set, decoded by the engine."""
    folder = ground.scratch / "examples"
    folder.mkdir(exist_ok=True)
    job = {"folder": ROOT / "examples" / "docs", "out": folder / "docs.jsonl"}
    ground.run(Contender("hapax", "pages"), "pages", job)
    return sets.read(folder, ground.scratch)


def machine():
    """Cores, processor and memory."""
    name, memory = platform.processor() or platform.machine(), ""
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
        kilobytes = int(pathlib.Path("/proc/meminfo").read_text(encoding="utf-8").split()[1])
        memory = f", {kilobytes / 2**20:.0f} GiB"
    except OSError:
        pass
    return f"{os.cpu_count()} cores of {name}{memory}, {platform.system()}"


def versions(ground):
    rust = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()
    hapax = subprocess.run([ground.hapax, "--version"], capture_output=True, text=True).stdout.strip()
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout
    return f"{hapax} at {commit.strip() or 'no commit'}, Rust {(rust + ['?', '?'])[1]}, Python {platform.python_version()}"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("families", nargs="*", choices=[*FAMILIES, []], metavar="FAMILY")
    arguments.add_argument("--target", type=pathlib.Path, required=True)
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    arguments.add_argument("--full", action="store_true")
    arguments.add_argument("--data", type=pathlib.Path, action="append", default=[])
    arguments.add_argument("--fingerprints", type=int, action="append", help="only so many stored; repeatable")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seconds", type=int, help="a contender that takes longer is stopped")
    given = arguments.parse_args()
    chosen = [family for family in FAMILIES if family in (given.families or FAMILIES)]
    ground = Ground(given.target.resolve(), given.seconds or (900 if given.full else 120), given.full)

    given.out.mkdir(parents=True, exist_ok=True)
    run = {"date": datetime.date.today().isoformat(), "machine": machine(), "versions": versions(ground), "tables": []}
    for made in measured(ground, given, chosen):
        reference = next((row for row in made["rows"] if row["ours"]), {})
        reference["reference"] = True
        made |= {"command": spelled(given), "load": os.getloadavg()[1]}
        run["tables"].append(made)
        # The rest may take hours, so results are written after every table.
        write(given.out, run)
    print(record.readme_table(run["tables"]))
    log(f"{given.out / 'compare.md'}")


def measured(ground, given, chosen):
    """Yields the tables in order."""
    page_sets = []
    if set(chosen) - {"near"}:
        page_sets = [examples(ground), *(sets.read(folder, ground.scratch) for folder in given.data)]
    for pages in page_sets:
        alike = sum(similarity >= score.ALIKE for *_, similarity in pages.pairs)
        log(f"{pages.name}: {len(pages.ids):,} pages, {len(pages.pairs):,} known pairs, {alike:,} near-duplicates")
    scored = [pages for pages in page_sets if score.enough(pages.pairs)]
    for family in chosen:
        if family == "near":
            for count, within, asked, known in NEAR_FULL if given.full else NEAR_QUICK:
                if count not in (given.fingerprints or [count]):
                    continue
                log(f"near: {count:,} within {within}")
                made = families.near(ground, count, within, asked, known, given.rounds)
                # The largest size that all contenders can handle.
                yield made | {"in_readme": count == (1_000_000 if given.full else 100_000)}
        else:
            compare = getattr(families, family)
            for pages in page_sets if family == "extract" else scored:
                log(f"{family}: {pages.name}")
                made = compare(ground, pages, given.rounds)
                # The largest set with known pairs; for texts also sets with known articles.
                yield made | {"in_readme": pages is scored[-1] or family == "extract" and bool(pages.articles)}


def spelled(given):
    """The command as typed by a user, without the folders of sets."""
    words = ["cargo xtask compare", "--full" if given.full else "--quick"]
    words += [f"--data {folder.name}" for folder in given.data]
    words += [f"--fingerprints {count}" for count in given.fingerprints or []]
    words += [f"--rounds {given.rounds}"] if given.rounds != 3 else []
    return " ".join(words + given.families)


def write(folder, run):
    """Writes the run as JSON and Markdown; keeps tables of the same day that were not measured again."""
    path = folder / "compare.json"
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        done = {made["title"] for made in run["tables"]}
        if before["date"] == run["date"]:
            old = [made for made in before["tables"] if made["title"] not in done]
            both = sorted(run["tables"] + old, key=lambda made: (FAMILIES.index(made["family"]), made["size"]))
            run = {**run, "tables": both}
    path.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "compare.md").write_text(record.markdown(run), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
