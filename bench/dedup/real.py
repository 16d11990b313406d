"""Real pages as JSON lines: folders of HTML, and sets of pages with their reference pairs.

    python3 bench/dedup/real.py [--set NAME=FOLDER]... [--folder NAME=FOLDER]... --out PAGES.jsonl --truth TRUTH.tsv

A set is a folder with `docs.jsonl.zst` (`id`, `url`, `html`) and `refpairs.tsv.zst`; a folder of HTML is, for
instance, a Debian documentation package unpacked with `dpkg-deb -x`. Names go before ids, so that sets do not
meet in one id. Pages that are links to other pages, or packed twice, are left out. Needs `zstd` on the path.
"""

import argparse
import gzip
import json
import pathlib
import subprocess
import sys


def unpacked(path):
    with subprocess.Popen(["zstd", "-dcq", "--long=27", path], stdout=subprocess.PIPE, text=True) as process:
        yield from process.stdout


def named(text):
    name, _, folder = text.partition("=")
    return name, pathlib.Path(folder)


def pages_of_folder(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        if path.suffix in (".html", ".htm", ".xhtml"):
            yield path, path.read_bytes()
        elif path.name.endswith(".html.gz"):
            yield path, gzip.decompress(path.read_bytes())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--set", action="append", default=[], type=named)
    arguments.add_argument("--folder", action="append", default=[], type=named)
    arguments.add_argument("--out", required=True)
    arguments.add_argument("--truth", required=True)
    given = arguments.parse_args()
    with open(given.out, "w", encoding="utf-8") as out, open(given.truth, "w", encoding="utf-8") as truth:
        truth.write("id1\tid2\tjaccard5\n")

        def page(name, identity, url, html):
            line = {"id": f"{name}/{identity}", "url": url, "html": html}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")

        for name, folder in given.set:
            count = 0
            for line in unpacked(folder / "docs.jsonl.zst"):
                document = json.loads(line)
                page(name, document["id"], document["url"], document["html"])
                count += 1
            pairs = unpacked(folder / "refpairs.tsv.zst")
            next(pairs)
            for line in pairs:
                one, other, jaccard = line.rstrip("\n").split("\t")[:3]
                truth.write(f"{name}/{one}\t{name}/{other}\t{jaccard}\n")
            print(f"{name}: {count} pages", file=sys.stderr)
        for name, folder in given.folder:
            count = 0
            for path, content in pages_of_folder(folder):
                place = path.relative_to(folder).as_posix()
                page(name, place, f"https://{name}.test/{place}", content.decode("utf-8", "replace"))
                count += 1
            print(f"{name}: {count} pages", file=sys.stderr)


if __name__ == "__main__":
    main()
