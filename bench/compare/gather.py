"""Combines folders of HTML and other sets into one set of pages, for `cargo xtask compare --data` and `hapax dedup`.

    python3 bench/compare/gather.py [--set NAME=FOLDER]... [--folder NAME=FOLDER]... --out FOLDER

bench/compare/sets.py defines sets; a folder of HTML is, for instance, a Debian documentation package unpacked with
`dpkg-deb -x`. Names are prefixed to ids to keep them unique. Skips pages that are links to other pages or compressed twice.
Writes pairs only if every part has them; otherwise they are computed when the set is read.
"""

import argparse
import gzip
import json
import pathlib
import sys

from sets import unpacked


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
    arguments.add_argument("--out", required=True, type=pathlib.Path)
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with open(given.out / "docs.jsonl", "w", encoding="utf-8") as out:

        def page(name, identity, url, html, **more):
            line = {"id": f"{name}/{identity}", "url": url, "html": html, **more}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")

        for name, folder in given.set:
            count = 0
            for line in unpacked(folder, "docs.jsonl"):
                document = json.loads(line)
                known = {key: document[key] for key in ("article_text",) if key in document}
                page(name, document["id"], document["url"], document["html"], **known)
                count += 1
            print(f"{name}: {count} pages", file=sys.stderr)
        for name, folder in given.folder:
            count = 0
            for path, content in pages_of_folder(folder):
                place = path.relative_to(folder).as_posix()
                page(name, place, f"https://{name}.test/{place}", content.decode("utf-8", "replace"))
                count += 1
            print(f"{name}: {count} pages", file=sys.stderr)
    if not given.folder:
        write_pairs(given.set, given.out / "refpairs.tsv")


def write_pairs(all_sets, path):
    with open(path, "w", encoding="utf-8") as truth:
        truth.write("id1\tid2\tjaccard5\n")
        for name, folder in all_sets:
            pairs = unpacked(folder, "refpairs.tsv")
            next(pairs, None)
            for line in pairs:
                one, other, jaccard = line.rstrip("\n").split("\t")[:3]
                truth.write(f"{name}/{one}\t{name}/{other}\t{jaccard}\n")


if __name__ == "__main__":
    main()
