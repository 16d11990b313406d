"""What a million real pages take: CPU seconds, seconds on all cores, memory.

    python3 bench/dedup/sizing.py DOCS.jsonl[.zst]...

Joins the sets (`url` and `html` on each line), writes them once as JSON lines and once as a WARC of gzip members, as
Common Crawl does, and cleans each with the defaults. CPU time and peak memory are those of the process, start
included; figures for a million pages are these divided by the pages. Both runs must keep and remove as many pages.
"""

import gzip
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "bench" / "out"
PROGRAM = pathlib.Path(os.environ.get("HAPAX", ROOT / "target" / "release" / "hapax"))


def lines(path):
    if not path.endswith(".zst"):
        with open(path, "rb") as file:
            yield from file
        return
    with subprocess.Popen(["zstd", "-dcq", "--long=27", path], stdout=subprocess.PIPE) as unpacked:
        yield from unpacked.stdout


def member(number, url, html):
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html.encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012}>\r\n"
        f"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + body + b"\r\n\r\n", 6)


def write(sets, plain, archive):
    count = 0
    with open(plain, "w", encoding="utf-8") as text, open(archive, "wb") as warc:
        for path in sets:
            for line in lines(path):
                page = json.loads(line)
                text.write(json.dumps({"url": page["url"], "html": page["html"]}, ensure_ascii=False) + "\n")
                warc.write(member(count, page["url"], page["html"]))
                count += 1
    return count


def clean(pages, out):
    shutil.rmtree(out, ignore_errors=True)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([PROGRAM, "dedup", pages, "--out", out, "-q"], check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, json.loads((out / "run.json").read_text()), json.loads((out / "summary.json").read_text())


def main():
    sets = sys.argv[1:]
    if not sets:
        sys.exit(__doc__)
    OUT.mkdir(exist_ok=True)
    plain, archive, out = OUT / "sizing.jsonl", OUT / "sizing.warc.gz", OUT / "sizing.out"
    count = write(sets, plain, archive)
    found = set()
    print("| input | pages | file, MB | removed | CPU s a million | wall s a million | bytes a document | peak MB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, pages in (("JSON lines", plain), ("WARC, gzip", archive)):
        wall, cpu, run, summary = clean(pages, out)
        assert summary["documents"] == count, summary
        found.add((summary["kept"], summary["exact"], summary["near"]))
        print(
            f"| {name} | {count} | {pages.stat().st_size / 1e6:.0f} | {summary['exact'] + summary['near']} | {cpu / count * 1e6:.0f} "
            f"| {wall / count * 1e6:.0f} | {run['bytes_per_document']:.0f} | {run['peak_memory'] / 1e6:.0f} |",
            flush=True,
        )
    assert len(found) == 1, found
    for made in (plain, archive):
        made.unlink()
    shutil.rmtree(out)


if __name__ == "__main__":
    main()
