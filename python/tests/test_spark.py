"""The job on Spark against the program on one machine: row for row the same."""

from __future__ import annotations

import json
import pathlib
import random
import re
import subprocess
from typing import Any

import pytest

pytest.importorskip("pyspark")

import hapax.spark  # noqa: E402
from hapax.spark import batch  # noqa: E402
from hapax.errors import ArgumentError, DuplicateIdError, JobError, OutputExistsError  # noqa: E402

from conftest import EXAMPLES, program  # noqa: E402
from spark_cluster import rows_of, spark  # noqa: E402, F401

#: Stages that do not depend on how rows are spread, nor on the key of the job.
STAGES = ("frames", "owns", "components", "verdicts", "groups")
#: What depends on where documents were read from and written to.
PLACES = ("inputs", "kept", "against")


def on_one_machine(source: list[str], out: pathlib.Path, *options: str) -> dict[str, Any]:
    subprocess.run([*program(), "dedup", *source, "--out", str(out), "-q", *options], check=True)
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return summary


def plain(summary: dict[str, Any]) -> dict[str, Any]:
    told = json.loads(json.dumps(summary))
    for name in PLACES:
        told["settings"].pop(name)
    return dict(told)


def report(folder: pathlib.Path) -> str:
    """The page without what depends on the run and on places: date, command, inputs, the name of the kept documents, and the hash of all that."""
    page = (folder / "report.html").read_text()
    page = re.sub(r"nonce-\w+|nonce=\"\w+\"", "nonce", page)
    page = re.sub(r"<dt>command</dt><dd><code>[^<]*</code></dd>", "", page)
    return re.sub(r"<dt>(made|inputs|against|kept documents)</dt><dd>[^<]*</dd>", "", page)


def check_same(spark_out: pathlib.Path, machine_out: pathlib.Path, snapshot: str = "0") -> None:
    made = spark_out / "snapshots" / snapshot
    for table in ("groups.parquet", "removed.parquet"):
        ours, theirs = rows_of(made / table), rows_of(machine_out / table)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            assert one == other
    ours_summary = json.loads((made / "summary.json").read_text())
    theirs_summary = json.loads((machine_out / "summary.json").read_text())
    assert plain(ours_summary) == plain(theirs_summary)
    ours_report, theirs_report = report(made), report(machine_out)
    for one_line, other_line in zip(ours_report.split("\n"), theirs_report.split("\n")):
        assert one_line == other_line
    assert ours_report == theirs_report and "Near-duplicates side by side" in ours_report


def synthetic(documents: int, seed: int) -> list[dict[str, Any]]:
    """Stories, copies of them, edits of them, and a template with another number in each page."""
    rng = random.Random(seed)
    words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(3, 9))) for _ in range(4000)]
    template = [rng.choice(words) for _ in range(150)]
    stories: list[list[str]] = []
    rows = []
    for number in range(documents):
        kind = rng.random()
        if kind < 0.06:
            text = [*template[:75], str(number), *template[75:]]
        elif kind < 0.3 and stories:
            text = list(rng.choice(stories[-800:]))
            for _ in range(rng.choice([0, 0, 1, 2, 4, 12])):
                text[rng.randrange(len(text))] = rng.choice(words)
        else:
            text = [rng.choice(words) for _ in range(rng.choice([4, 60, 90, 120, 150]))]
            stories.append(text)
        host = rng.choice(["http://a.test", "https://b.test", "http://c.test"])
        rows.append({"url": f"{host}/{rng.randrange(10**9)}/{number}", "text": " ".join(text), "score": rng.choice([None, 0.5, 1.0])})
    return rows


def write_lines(path: pathlib.Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_example_corpus_is_cleaned_as_on_one_machine(spark: Any, tmp_path: pathlib.Path) -> None:
    on_one_machine([str(EXAMPLES)], tmp_path / "machine", "--format", "jsonl")
    done = hapax.spark.dedup(str(EXAMPLES), tmp_path / "spark", spark=spark, format="jsonl")
    check_same(tmp_path / "spark", tmp_path / "machine")
    kept = sorted((tmp_path / "spark/snapshots/0/kept").glob("*.jsonl"))
    assert "".join(file.read_text() for file in kept) == (tmp_path / "machine/kept.jsonl").read_text()
    assert done.groups.count() == done.summary["documents"]
    # The next crawl, on one machine, against either.
    found = []
    for number, earlier in enumerate(("machine", "spark/snapshots/0")):
        again = tmp_path / f"again{number}"
        summary = on_one_machine([str(EXAMPLES)], again, "--against", str(tmp_path / earlier))
        assert summary["known"] > done.summary["kept"] / 2
        found.append(rows_of(again / "groups.parquet"))
    assert found[0] == found[1]


def shop(products: int, seed: int, first: int = 0, host: str = "shop.test") -> list[dict[str, Any]]:
    """Pages of one shop: a large frame, and a name, a price and a few words of their own; every sixth again under another address."""
    rng = random.Random(host)
    frame = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(6)) for _ in range(400)]
    rng = random.Random(seed)
    rows = []
    for number in range(first, first + products):
        own = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(7)) for _ in range(12)]
        text = " ".join([*frame[:200], *own, f"{number * 37 % 991}.50", *frame[200:]])
        rows.append({"url": f"https://{host}/product/{number}", "text": text})
        if number % 6 == 0:
            rows.append({"url": f"https://{host}/product/{number}?ref=mail", "text": f"{text} {number}"})
    return rows


def warc(kind: str, url: str, block: str) -> str:
    lines = ["WARC/1.0", f"WARC-Type: {kind}", f"WARC-Target-URI: {url}", "WARC-Date: 2020-02-03T04:05:06Z", f"Content-Length: {len(block)}"]
    return "\r\n".join(lines) + f"\r\n\r\n{block}\r\n\r\n"


def everything(folder: pathlib.Path) -> None:
    """Shops with frames, stories, a dense cluster, and records that are no documents: between two documents, last, alone in a file, in an archive."""
    rows = [*shop(90, 1), *synthetic(10_000, 7), *shop(90, 2, 90), *shop(7, 3, host="few.test"), *shop(30, 4, host="other.test")]
    folder.mkdir()
    for part, first in enumerate(range(0, len(rows), 3000)):
        lines = [json.dumps(row) for row in rows[first : first + 3000]]
        lines = ["", *lines[:50], json.dumps({"url": f"http://null.test/{part}", "text": None}), *lines[50:], "", "{broken"]
        (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "blank.jsonl").write_text("\n\n\n")
    moved = "HTTP/1.1 301 Moved\r\nLocation: {}\r\n\r\n"
    page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + rows[200]["text"]
    records = [
        warc("request", "http://h.test/asked", "GET / HTTP/1.1\r\n\r\n"),
        warc("response", "http://h.test/old", moved.format("http://h.test/page")),
        warc("response", "http://h.test/page", page),
        warc("response", "http://h.test/old", moved.format("http://h.test/page")),
        warc("response", "http://h.test/lost", moved.format("http://h.test/nowhere")),
        warc("response", "http://h.test/gone", "HTTP/1.1 404 Not Found\r\n\r\n"),
    ]
    (folder / "pages.warc").write_text("".join(records), newline="")


def test_a_corpus_with_everything_is_cleaned_both_ways_as_on_one_machine(spark: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = str(tmp_path / "in")
    everything(tmp_path / "in")
    beyond = on_one_machine([corpus], tmp_path / "machine", "--skip-bad")
    whole = on_one_machine([corpus], tmp_path / "whole", "--skip-bad", "--frames", "off")
    assert beyond["near"] + 150 < whole["near"] and beyond["framed_hosts"] >= 2
    assert beyond["dense"] > 300 and beyond["near"] > 400 and beyond["exact"] > 100
    assert "Frames of the largest hosts" in (tmp_path / "machine/report.html").read_text()
    assert beyond["records"] == beyond["kept"] + beyond["exact"] + beyond["near"] + sum(beyond["passed_over"].values())
    # Blank lines that follow each other count once.
    expected = {"null_text": 4, "blank_line": 9, "damaged": 4, "not_a_page": 1, "http_status": 1, "redirect": 3}
    assert beyond["passed_over"] == expected
    started = spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs
    before = dict(spark.conf.getAll)
    ways = []
    for name, small, tasks in (("one", batch.SMALL_BYTES, 1), ("many", 0, 2)):
        monkeypatch.setattr(batch, "SMALL_BYTES", small)
        began = started()
        done = hapax.spark.dedup(corpus, tmp_path / name, spark=spark, skip_bad=True)
        assert done.effort["partitions"] == tasks
        assert name == "many" or started() - began < 60
        check_same(tmp_path / name, tmp_path / "machine")
        made = tmp_path / name / "snapshots/0"
        # How much work a task did is a row of each task.
        stages = {stage: sorted(repr(row) for row in rows_of(made / "state" / stage) if row.get("outcome") != "effort") for stage in STAGES}
        ways.append((stages, b"".join(file.read_bytes() for file in sorted((made / "kept").iterdir()))))
        assert hapax.spark.dedup(corpus, tmp_path / name, spark=spark, skip_bad=True).summary == done.summary
    for one, other in zip(*ways):
        assert one == other
    hapax.spark.dedup(corpus, tmp_path / "many", spark=spark, snapshot="whole", skip_bad=True, frames="off")
    check_same(tmp_path / "many", tmp_path / "whole", "whole")
    assert dict(spark.conf.getAll) == before
    with pytest.raises(JobError, match="own texts alone"):
        hapax.spark.dedup(corpus, tmp_path / "own", spark=spark, frames="own")


def test_a_table_of_spark_is_cleaned_into_a_table(spark: Any, tmp_path: pathlib.Path) -> None:
    rows = synthetic(300, 3)
    pages = spark.createDataFrame([(row["url"], row["text"], [row["url"]]) for row in rows], "url string, text string, tags array<string>")
    pages.write.saveAsTable("crawled")
    done = hapax.spark.dedup(spark.read.table("crawled"), tmp_path / "out", spark=spark)
    # A corpus of a few thousand rows is not worth more than a task.
    assert done.effort["partitions"] == 1 < spark.sparkContext.defaultParallelism < int(spark.conf.get("spark.sql.shuffle.partitions"))
    done.kept.write.saveAsTable("kept")
    kept = spark.read.table("kept")
    removed = {row["document"] for row in done.removed.collect()}
    assert removed and kept.schema == pages.schema
    assert {row["url"] for row in kept.collect()} == {row["url"] for row in rows} - removed


def test_a_bad_input_is_named_with_file_and_place(spark: Any, tmp_path: pathlib.Path) -> None:
    write_lines(tmp_path / "in/a.jsonl", synthetic(20, 3))
    with (tmp_path / "in/a.jsonl").open("a") as file:
        file.write("{broken\n")
    with pytest.raises(hapax.errors.CorpusError, match="a.jsonl, line 21") as raised:
        hapax.spark.dedup(str(tmp_path / "in"), tmp_path / "out", spark=spark)
    assert "org.apache" not in str(raised.value) and raised.value.__suppress_context__
    with pytest.raises(FileNotFoundError):
        hapax.spark.dedup(str(tmp_path / "none.jsonl"), tmp_path / "out", spark=spark)
