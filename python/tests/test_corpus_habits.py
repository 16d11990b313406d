"""Pipelines of data people: datatrove steps and datasets maps, on data made on the spot."""

from __future__ import annotations

import json
import pathlib
import pickle
import subprocess
import sys

import datasets
import numpy as np
import pyarrow as pa
import pytest
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter

import hapax
from conftest import Service, story
from hapax.datatrove import Apply, Decide, Deduplicate, Fingerprint

TEXTS = [story(1), story(2), story(1) + " end", story(1), story(3), story(2)]
#: The first of each kind.
FIRST = [0, 1, 4]


def documents() -> list[Document]:
    return [Document(text=text, id=f"d{n}") for n, text in enumerate(TEXTS)]


def test_a_step_passes_the_first_of_each_kind_on(tmp_path: pathlib.Path) -> None:
    for batch_size in (1, 4, 100):
        step = Deduplicate(str(tmp_path / f"seen-{batch_size}"), batch_size=batch_size)
        kept = list(step.run(documents()))
        assert [document.id for document in kept] == [f"d{n}" for n in FIRST]
        assert kept[0].metadata["hapax"] == "new"
        # Again: the same documents are known by their ids, and stay.
        assert [d.id for d in step(documents())] == [f"d{n}" for n in FIRST]


def lines_of(folder: pathlib.Path) -> list[dict]:
    return [json.loads(line) for file in sorted(folder.iterdir()) for line in file.read_text().splitlines()]


def run(tmp_path: pathlib.Path, name: str, tasks: int, *pipeline: object) -> dict:
    """Runs a pipeline; the counts of its step of ours."""
    logs = tmp_path / f"logs-{name}"
    LocalPipelineExecutor(pipeline=list(pipeline), tasks=tasks, workers=1, logging_dir=str(logs)).run()
    stats = json.loads((logs / "stats.json").read_text())
    return next(step["stats"] for step in stats if "hapax" in step["name"])


def test_a_real_pipeline_of_datatrove(tmp_path: pathlib.Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(TEXTS)]
    (tmp_path / "in" / "pages.jsonl").write_text("".join(lines))
    gone = JsonlWriter(str(tmp_path / "gone"), compression=None)
    step = Deduplicate(str(tmp_path / "seen"), exclusion_writer=gone)
    writer = JsonlWriter(str(tmp_path / "out"), compression=None)
    counts = run(tmp_path, "one", 1, JsonlReader(str(tmp_path / "in")), step, writer)
    assert [line["id"] for line in lines_of(tmp_path / "out")] == [f"d{n}" for n in FIRST]
    assert [(d["id"], d["metadata"]["hapax"], d["metadata"]["hapax_winner"]) for d in lines_of(tmp_path / "gone")] == [
        ("d2", "near", "d0"),
        ("d3", "exact", "d0"),
        ("d5", "exact", "d1"),
    ]
    assert (counts["total"], counts["forwarded"], counts["dropped"]) == (6, 3, 3)


def test_what_stays_does_not_depend_on_the_number_of_tasks(tmp_path: pathlib.Path) -> None:
    (tmp_path / "in").mkdir()
    rows = [(f"{file}-{n}", story((file * 5 + n) % 13) + " again" * (file % 3)) for file in range(6) for n in range(5)]
    for file in range(6):
        of_file = [row for row in rows if row[0].startswith(f"{file}-")]
        lines = [json.dumps({"id": name, "text": text, "metadata": {"n": 1}}) + "\n" for name, text in of_file]
        (tmp_path / "in" / f"{file}.jsonl").write_text("".join(lines))
    whole = hapax.dedup([text for _, text in rows])
    gone_rows = {gone.row for gone in whole.removed}
    expected = [name for n, (name, _) in enumerate(rows) if n not in gone_rows]
    for tasks in (1, 4, 8):
        reader = JsonlReader(str(tmp_path / "in"))
        work, out = str(tmp_path / f"work-{tasks}"), tmp_path / f"out-{tasks}"
        gone = JsonlWriter(str(tmp_path / f"gone-{tasks}"), compression=None)
        read = run(tmp_path, f"first-{tasks}", tasks, reader, Fingerprint(work))
        assert read["total"] == 30
        run(tmp_path, f"second-{tasks}", 1, Decide(work))
        run(tmp_path, f"third-{tasks}", tasks, reader, Apply(work, exclusion_writer=gone), JsonlWriter(str(out), compression=None))
        kept = sorted(line["id"] for line in lines_of(out))
        removed = lines_of(tmp_path / f"gone-{tasks}")
        # Tasks take files in turn, so which copy is the first depends on them.
        assert kept == expected if tasks == 1 else len(kept) == len(expected) == 13
        assert {line["metadata"]["hapax_winner"] for line in removed} <= set(kept)
        assert len(kept) + len(removed) == len(rows)
        key = (tmp_path / f"work-{tasks}" / "key").read_bytes()
        logs = [path for path in tmp_path.glob("logs-*/**/*") if path.is_file()]
        assert len(key) == 64 and not any(key in path.read_bytes() for path in logs)
        assert [path.name for path in (tmp_path / f"work-{tasks}").iterdir() if path.name.startswith(".")] == []


def test_steps_refuse_what_they_cannot_do(tmp_path: pathlib.Path) -> None:
    work = str(tmp_path / "work")
    Fingerprint(work).run(documents()[:3], rank=0, world_size=2)
    with pytest.raises(hapax.errors.CorpusError, match="shards 0 to 0 of 2"):
        Decide(work).run()
    Fingerprint(work).run(documents()[3:], rank=1, world_size=2)
    with pytest.raises(hapax.errors.ArgumentError, match="tasks=1"):
        Decide(work).run(rank=0, world_size=2)
    with pytest.raises(hapax.errors.CorpusError, match="in another way"):
        Decide(work, frames="off").run()
    Decide(work).run()
    assert [d.id for d in Apply(work).run(documents()[3:], rank=1, world_size=2)] == ["d4"]
    for given in (documents(), documents()[1:], documents()[:2]):
        with pytest.raises(hapax.errors.JobError, match="reader and the number of tasks"):
            list(Apply(work).run(given, rank=0, world_size=2))
    with pytest.raises(hapax.errors.JobError, match="task 0 of 3"):
        list(Apply(work).run(documents(), rank=0, world_size=3))
    twice = str(tmp_path / "twice")
    Fingerprint(twice).run([Document(text=text, id="one") for text in TEXTS])
    with pytest.raises(hapax.errors.DuplicateIdError, match="task 0 of 1, record 2"):
        Decide(twice).run()
    with pytest.raises(hapax.errors.ArgumentError, match="Fingerprint, Decide and Apply"):
        list(Deduplicate("seen-{rank}").run(documents()))


def test_ranks_share_a_service(service: Service) -> None:
    step = Deduplicate(service.url)
    assert [d.id for d in step.run(documents()[:3], rank=0)] == ["d0", "d1"]
    assert [d.id for d in step.run(documents()[3:], rank=1)] == ["d4"]


def test_a_token_is_read_where_the_step_runs_and_never_written_down(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "0123456789abcdef0123456789abcdef"
    (tmp_path / "hapax.toml").write_text(f'[tokens]\nwrite = ["{token}"]\n')
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "pages.jsonl").write_text(json.dumps({"id": "d0", "text": TEXTS[0]}) + "\n")
    running = Service(tmp_path / "served", "--config", str(tmp_path / "hapax.toml"))
    try:
        step = Deduplicate(running.url, token_variable="A_TOKEN")
        with pytest.raises(hapax.errors.RefusedError):
            list(step.run(documents()))
        monkeypatch.setenv("A_TOKEN", token)
        pipeline = [JsonlReader(str(tmp_path / "in")), step, JsonlWriter(str(tmp_path / "out"), compression=None)]
        LocalPipelineExecutor(pipeline=pipeline, logging_dir=str(tmp_path / "logs")).run()
        assert json.loads((tmp_path / "out" / "00000.jsonl").read_text())["id"] == "d0"
        assert token.encode() not in pickle.dumps(step)
        written = [path for path in (tmp_path / "logs").rglob("*") if path.is_file()]
        assert any(path.name == "executor.json" for path in written)
        assert not any(token.encode() in path.read_bytes() for path in written)
    finally:
        running.stop()
    with pytest.raises(hapax.errors.ArgumentError, match="HAPAX_TOKEN"):
        Deduplicate("http://127.0.0.1:1", token=token)


def test_a_step_needs_no_datatrove(tmp_path: pathlib.Path) -> None:
    script = (
        "import sys, types; sys.modules['datatrove'] = None\n"
        "from hapax.datatrove import Deduplicate\n"
        f"texts = {TEXTS!r}\n"
        "made = [types.SimpleNamespace(text=t, id=str(n), metadata={}) for n, t in enumerate(texts)]\n"
        f"print([d.id for d in Deduplicate({str(tmp_path / 'seen')!r})(made)])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "['0', '1', '4']\n", done.stderr


def test_a_map_of_datasets_and_a_clean_dataset(by: hapax.Fingerprinter) -> None:
    data = datasets.Dataset.from_dict({"text": TEXTS})
    expected = by.fingerprints(TEXTS)

    def lists(batch: dict) -> dict:
        # datasets takes Python's ints for signed ones.
        return {"fingerprint": np.array(by.fingerprints(batch["text"]), dtype=np.uint64)}

    assert data.map(lists, batched=True)["fingerprint"][:] == expected
    assert data.map(lists, batched=True, num_proc=2)["fingerprint"][:] == expected

    def tables(batch: pa.Table) -> pa.Table:
        return batch.append_column("fingerprint", by.fingerprints(batch, column="text"))

    mapped = data.with_format("arrow").map(tables, batched=True).with_format(None)
    assert mapped["fingerprint"][:] == expected
    assert hapax.dedup(data).kept["text"][:] == [TEXTS[n] for n in FIRST]
