"""Snapshots on Spark: increments, streams, components, killed and bad runs."""

from __future__ import annotations

import json
import pathlib
from types import SimpleNamespace
import random
import shutil
from typing import Any

import pytest

pytest.importorskip("pyspark")

import hapax.spark  # noqa: E402
from hapax.errors import ArgumentError, CorpusError, DuplicateIdError, JobError, OutputExistsError, RecipeMismatchError  # noqa: E402
from hapax.spark import batch, components as stars  # noqa: E402
from hapax.spark import steps  # noqa: E402
from hapax.spark.batch import check_executors, make_spec  # noqa: E402
from hapax.spark.snapshot import COMPLETE, Snapshot  # noqa: E402

from spark_cluster import rows_of, spark  # noqa: E402, F401
from test_spark import on_one_machine, plain, shop, synthetic, write_lines  # noqa: E402

#: How the answer was come by, which differs when part of it was there before.
EFFORT = ("candidate_pairs", "compared_pairs", "confirmed_pairs", "related_groups", "collisions", "dense")


def check_rows(made: pathlib.Path, machine: pathlib.Path) -> None:
    for table in ("groups.parquet", "removed.parquet"):
        assert rows_of(made / table) == rows_of(machine / table)
    ours, theirs = (plain(json.loads((folder / "summary.json").read_text())) for folder in (made, machine))
    for name in EFFORT:
        ours.pop(name), theirs.pop(name)
    assert ours == theirs


def test_increments_give_the_rows_of_the_whole_job(spark: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = synthetic(1500, 11)
    # A late page that wins over a group, one that names an old page as canonical.
    better = {**rows[100], "url": "https://b.test/0", "score": 9.0}
    rows.append(better)
    cuts = [0, 900, 1300, len(rows)]
    for number in range(3):
        # Of a shop whose frame is known with the second crawl, old products go at first.
        products = shop((5, 20, 3)[number], number, (0, 5, 25)[number])
        write_lines(tmp_path / f"in/{number}.jsonl", [*products, *rows[cuts[number] : cuts[number + 1]]])
    out = tmp_path / "spark"
    # Each snapshot goes the other way than the one it is based on.
    first = hapax.spark.dedup(str(tmp_path / "in/0.jsonl"), out, spark=spark)
    product = "document like 'https://shop.test/%'"
    assert first.removed.where(product).count() == 5
    assert first.effort["partitions"] == 1
    for number, small, tasks in ((1, 0, 2), (2, batch.SMALL_BYTES, 1)):
        monkeypatch.setattr(batch, "SMALL_BYTES", small)
        done = hapax.spark.increment(str(tmp_path / f"in/{number}.jsonl"), out, spark=spark, base=str(number - 1), snapshot=str(number))
        machine = tmp_path / f"machine{number}"
        on_one_machine([str(tmp_path / f"in/{n}.jsonl") for n in range(number + 1)], machine)
        check_rows(out / "snapshots" / str(number), machine)
        assert done.effort["partitions"] == tasks
        assert done.effort["moved"] < 0.8 * done.summary["documents"]
    # Copies with another address.
    assert done.removed.where(product).count() == 5
    changed = rows_of(out / "snapshots/2/changed.parquet")
    assert any(row["document"] == rows[100]["url"] for row in changed)
    with pytest.raises(RecipeMismatchError, match="within"):
        hapax.spark.increment(str(tmp_path / "in/1.jsonl"), out, spark=spark, base="0", snapshot="9", within=3)


def test_a_stream_counts_every_document_once_whatever_is_replayed(spark: Any, tmp_path: pathlib.Path) -> None:
    rows = sorted(synthetic(600, 5), key=lambda row: str(row["url"]))
    arriving, out, checkpoint = tmp_path / "arriving", tmp_path / "out", tmp_path / "checkpoint"
    schema = "url string, text string, score double"

    def follow() -> None:
        query = hapax.spark.stream(arriving, out, checkpoint=checkpoint, schema=schema, spark=spark, once=True)
        query.awaitTermination()

    write_lines(arriving / "0.jsonl", rows[:400])
    follow()
    write_lines(arriving / "1.jsonl", rows[400:])
    follow()
    # The batch was worked off and its commit lost: it is replayed.
    commit = max((checkpoint / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
    for file in (commit, commit.with_name(f".{commit.name}.crc")):
        file.unlink(missing_ok=True)
    before = rows_of(out / "snapshots/1/groups.parquet")
    follow()
    done = hapax.spark.latest(out, spark)
    assert done is not None and done.path.endswith("/1") and done.summary["documents"] == 600
    assert rows_of(out / "snapshots/1/groups.parquet") == before
    write_lines(tmp_path / "all/0.jsonl", rows[:400])
    write_lines(tmp_path / "all/1.jsonl", rows[400:])
    theirs = on_one_machine([str(tmp_path / "all")], tmp_path / "machine")
    known = [(row["document"], row["winner"], row["outcome"], row["distance"], row["rule"]) for row in before]
    wanted = rows_of(tmp_path / "machine/groups.parquet")
    assert known == [(row["document"], row["winner"], row["outcome"], row["distance"], row["rule"]) for row in wanted]
    assert done.summary["kept"] == theirs["kept"]
    shutil.rmtree(checkpoint)
    with pytest.raises(JobError, match="checkpoint was lost"):
        follow()


def test_stars_find_the_components_of_union_find(spark: Any, tmp_path: pathlib.Path) -> None:
    rng = random.Random(3)
    edges = [(node, node + 1) for node in range(1, 120)]
    edges += [(rng.randrange(1000, 1400), rng.randrange(1000, 1400)) for _ in range(300)]
    edges += [(5000, 5000 + leaf) for leaf in range(1, 60)]
    spec = make_spec("web-2", None, False, {})
    table = spark.createDataFrame(edges, steps.EDGES).repartition(3)
    snapshot = Snapshot(spark, str(tmp_path), "stars")
    found = {row["node"]: row["component"] for row in stars.by_stars(table, snapshot, 3).collect()}
    known = {row["node"]: row["component"] for row in stars.on_driver(spark, spec, table).collect()}
    loops = {a for a, b in edges if a == b}
    assert {node: known[node] for node in found} == found
    assert set(known) - set(found) <= loops


def test_only_what_a_job_made_is_gone_on_with_after_a_kill_and_half_a_snapshot_is_refused(spark: Any, tmp_path: pathlib.Path) -> None:
    write_lines(tmp_path / "in/0.jsonl", synthetic(300, 2))
    out, made = tmp_path / "out", tmp_path / "out/snapshots/0"
    precious = made / "thesis.tex"
    precious.parent.mkdir(parents=True)
    precious.write_text("mine")
    with pytest.raises(OutputExistsError, match="thesis.tex.*Name another") as refused:
        hapax.spark.dedup(str(tmp_path / "in"), out, spark=spark, keep_documents=False)
    assert str(made) in str(refused.value) and precious.read_text() == "mine"
    precious.unlink()
    done = hapax.spark.dedup(str(tmp_path / "in"), out, spark=spark, keep_documents=False)
    with pytest.raises(JobError, match="keep_documents"):
        done.kept
    before = rows_of(made / "groups.parquet")
    key = (made / "state/key").read_text()
    # As a killed driver leaves it: no mark of completion, late stages half there.
    for lost in (COMPLETE, f".{COMPLETE}.crc", "summary.json", "state/verdicts/_SUCCESS", "groups.parquet/_SUCCESS"):
        (made / lost).unlink(missing_ok=True)
    with pytest.raises(JobError, match="half-written.*Run that job again"):
        hapax.spark.increment(str(tmp_path / "in"), out, spark=spark, base="0", snapshot="1")
    again = hapax.spark.dedup(str(tmp_path / "in"), out, spark=spark, keep_documents=False)
    assert again.summary == done.summary and rows_of(made / "groups.parquet") == before
    # Sketches under another key could not be compared with those that are there.
    assert len(key) == 64 and (made / "state/key").read_text() == key
    assert json.loads(json.loads((made / COMPLETE).read_text())["spec"])[-1] == key
    with pytest.raises(OutputExistsError, match="another job"):
        hapax.spark.dedup(str(tmp_path / "in"), out, spark=spark, within=3)
    with pytest.raises(JobError, match="no snapshot"):
        hapax.spark.increment(str(tmp_path / "in"), out, spark=spark, base="7", snapshot="8")


def test_a_data_frame_is_cleaned_and_another_one_under_its_name_is_refused(spark: Any, tmp_path: pathlib.Path) -> None:
    rows = sorted(synthetic(300, 3), key=lambda row: str(row["url"]))
    write_lines(tmp_path / "in.jsonl", rows)
    on_one_machine([str(tmp_path / "in.jsonl")], tmp_path / "machine")
    shuffled = random.Random(1).sample(rows, len(rows))
    frame = spark.createDataFrame([(row["url"], row["text"], row["score"]) for row in shuffled], "url string, text string, score double")
    done = hapax.spark.dedup(frame, tmp_path / "out", spark=spark, keep_documents=False)
    ours, theirs = rows_of(tmp_path / "out/snapshots/0/groups.parquet"), rows_of(tmp_path / "machine/groups.parquet")
    for row in (*ours, *theirs):
        row.pop("file"), row.pop("record")
    assert ours == theirs
    again = hapax.spark.dedup(frame.repartition(3), tmp_path / "out", spark=spark, keep_documents=False)
    assert again.summary == done.summary
    with pytest.raises(OutputExistsError, match="another job"):
        hapax.spark.dedup(frame.limit(299), tmp_path / "out", spark=spark, keep_documents=False)


def test_bad_input_says_what_is_wrong_and_the_way_out(spark: Any, tmp_path: pathlib.Path) -> None:
    frame = spark.createDataFrame([("a", "some words")], "name string, words string")
    with pytest.raises(ArgumentError, match="text_field= or html_field= one of name, words"):
        hapax.spark.dedup(frame, tmp_path / "out", spark=spark)
    with pytest.raises(ArgumentError, match="id_field= or url_field="):
        hapax.spark.dedup(frame, tmp_path / "out", spark=spark, text_field="words")
    with pytest.raises(ArgumentError, match="no column 'nowhere'"):
        hapax.spark.dedup(frame, tmp_path / "out", spark=spark, text_field="nowhere")
    with pytest.raises(TypeError, match="unexpected keyword argument 'threads'"):
        hapax.spark.dedup(frame, tmp_path / "out", spark=spark, threads=3)
    write_lines(tmp_path / "twice.jsonl", [{"id": "x", "text": "one " * 40}, {"id": "x", "text": "two " * 40}])
    with pytest.raises(DuplicateIdError, match="'x'"):
        hapax.spark.dedup(str(tmp_path / "twice.jsonl"), tmp_path / "twice", spark=spark)
    for run in (hapax.spark.dedup, lambda *given, **more: hapax.spark.increment(*given, **more, base="0", snapshot="1")):
        with pytest.raises(JobError, match='^Spark could not do the job: No FileSystem for scheme "nowhere"$') as refused:
            run(str(tmp_path / "twice.jsonl"), "nowhere://out", spark=spark)
        assert refused.value.__suppress_context__
    (tmp_path / "broken.jsonl").write_text('{"text": "fine words"}\n{"text": \n')
    with pytest.raises(CorpusError, match="broken.jsonl"):
        hapax.spark.dedup(str(tmp_path / "broken.jsonl"), tmp_path / "broken", spark=spark)
    skipped = hapax.spark.dedup(str(tmp_path / "broken.jsonl"), tmp_path / "broken", spark=spark, skip_bad=True)
    assert (skipped.summary["documents"], skipped.summary["passed_over"]) == (1, {"damaged": 1})


def test_executors_without_the_package_or_with_another_are_refused() -> None:
    class Lacking:
        """A session whose executors answer like this."""

        def __init__(self, answer: Any) -> None:
            self.answer = answer
            self.sparkContext = SimpleNamespace(pythonExec="/usr/bin/python3")

        def range(self, *_: int) -> "Lacking":
            return self

        def mapInArrow(self, *_: Any) -> "Lacking":
            return self

        def first(self) -> Any:
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    with pytest.raises(JobError, match="/usr/bin/python3.*PYSPARK_PYTHON.*spark.archives"):
        check_executors(Lacking(RuntimeError("ModuleNotFoundError: No module named 'hapax'")))
    with pytest.raises(JobError, match="the same wheel"):
        check_executors(Lacking({"version": "0.0.0"}))
