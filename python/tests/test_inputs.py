"""Documents in the caller's type, and what stays of them in the same type."""

from __future__ import annotations

import gc
import pathlib
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from typing import Any, Callable

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import hapax
from conftest import story

TEXTS = [story(1), story(1) + " end", story(2), story(1), None, story(3), ""]
ROWS = [{"name": name, "text": text, "number": number} for number, (name, text) in enumerate(zip("aabcdef", TEXTS))]
TABLE = pa.Table.from_pylist(ROWS)
#: Rows without text stay.
KEPT = [0, 2, 4, 5, 6]
REMOVED = [(1, 0, "near"), (3, 0, "exact")]

datasets.disable_progress_bars()


def numbers(frame: Any) -> list[int]:
    """The rows of whatever came back, by a column that the job does not need."""
    if isinstance(frame, (pa.dataset.Dataset, pl.LazyFrame)):
        frame = frame.to_table() if isinstance(frame, pa.dataset.Dataset) else frame.collect()
    if isinstance(frame, pa.RecordBatchReader):
        frame = frame.read_all()
    if isinstance(frame, datasets.IterableDataset):
        return [row["number"] for row in frame]
    if isinstance(frame, list):
        return [number for row in frame for number in ([row["number"]] if isinstance(row, dict) else numbers(row))]
    column = frame.column("number") if isinstance(frame, (pa.Table, pa.RecordBatch)) else frame["number"]
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def in_files(table: pa.Table, folder: pathlib.Path) -> pa.dataset.Dataset:
    for part in range(3):
        pa.parquet.write_table(table.slice(part * 3, 3), folder / f"{part}.parquet")
    return pa.dataset.dataset(folder)


FORMS: dict[str, tuple[Callable[[pathlib.Path], Any], type]] = {
    "dicts": (lambda _: list(ROWS), list),
    "pandas": (lambda _: TABLE.to_pandas(), pd.DataFrame),
    "polars": (lambda _: pl.DataFrame(ROWS), pl.DataFrame),
    "lazy": (lambda _: pl.DataFrame(ROWS).lazy(), pl.LazyFrame),
    "table": (lambda _: TABLE, pa.Table),
    "batch": (lambda _: TABLE.to_batches()[0], pa.RecordBatch),
    "views": (lambda _: pa.table(pl.DataFrame(ROWS)), pa.Table),
    "reader": (lambda _: TABLE.to_reader(2), pa.RecordBatchReader),
    "arrow dataset": (lambda folder: in_files(TABLE, folder), pa.dataset.Dataset),
    "dataset": (lambda _: datasets.Dataset.from_list(ROWS), datasets.Dataset),
    "iterable dataset": (lambda _: datasets.Dataset.from_list(ROWS).to_iterable_dataset(), datasets.IterableDataset),
    "stream of dicts": (lambda _: iter(ROWS), object),
    "stream of batches": (lambda _: iter(TABLE.to_batches(max_chunksize=2)), object),
    "stream of frames": (lambda _: (pl.DataFrame(ROWS)[at : at + 3] for at in (0, 3, 6)), object),
}


def decisions(rows: Any) -> list[tuple[Any, ...]]:
    if isinstance(rows, list):
        return [tuple(row[:3]) for row in rows]
    rows = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows.to_dicts() if isinstance(rows, pl.DataFrame) else rows
    rows = rows.to_pylist() if isinstance(rows, pa.Table) else rows
    return [(row["row"], row["kept_row"], row["outcome"]) for row in rows]


@pytest.mark.parametrize("form", FORMS)
def test_what_stays_is_of_the_type_that_was_given(form: str, tmp_path: pathlib.Path) -> None:
    make, kind = FORMS[form]
    found = hapax.dedup(make(tmp_path))
    kept = found.kept
    assert isinstance(kept, kind)
    if form.startswith("stream"):
        kept = list(kept)
    assert numbers(kept) == KEPT
    assert decisions(found.removed) == REMOVED
    every = decisions(found.groups)
    assert [row for row, _, _ in every] == list(range(7))
    assert [outcome for _, _, outcome in every] == ["kept", "near", "kept", "exact", "no_text", "kept", "kept"]
    summary = found.summary
    assert (summary["records"], summary["documents"], summary["kept"], summary["passed_over"]) == (7, 6, 4, {"null_text": 1})
    assert "4 kept" in repr(found) and "<td>6</td>" in found._repr_html_()


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("dicts", "stream of dicts")])
def test_nothing_in_is_nothing_out(form: str, tmp_path: pathlib.Path) -> None:
    whole = FORMS[form][0](tmp_path)
    if isinstance(whole, (datasets.Dataset, datasets.IterableDataset)):
        nothing = datasets.Dataset.from_dict({"number": [], "text": []})
    elif isinstance(whole, pa.dataset.Dataset):
        nothing = pa.dataset.dataset(TABLE.slice(0, 0))
    elif isinstance(whole, pa.RecordBatchReader):
        nothing = TABLE.slice(0, 0).to_reader()
    else:
        nothing = iter([]) if form.startswith("stream") else whole.limit(0) if form == "lazy" else whole[:0]
    found = hapax.dedup(nothing)
    kept = list(found.kept) if form.startswith("stream") else found.kept
    assert (kept == [] if isinstance(kept, list) else numbers(kept) == [])
    assert decisions(found.removed) == decisions(found.groups) == [] and found.summary["records"] == 0
    only_null = hapax.dedup([None, None] if form == "pandas" else [{"text": None}]) if form in ("pandas", "polars") else None
    assert only_null is None or only_null.summary["documents"] == 0


def test_columns_of_texts_come_back_as_columns() -> None:
    texts = [text or "" for text in TEXTS]
    kept = [texts[row] for row in KEPT]
    assert hapax.dedup(texts).kept == kept and hapax.dedup(tuple(texts)).kept == tuple(kept)
    series = pd.Series(texts, index=list("tuvwxyz"), name="story")
    assert hapax.dedup(series).kept.equals(series.iloc[KEPT])
    assert hapax.dedup(pl.Series("story", texts)).kept.to_list() == kept
    assert hapax.dedup(np.array(texts, dtype=object)).kept.tolist() == kept
    for column in (pa.array(texts), pa.chunked_array([texts[:2], texts[2:]]), pa.array(texts, pa.string_view())):
        back = hapax.dedup(column).kept
        assert back.type == column.type and back.to_pylist() == kept
    assert list(hapax.dedup(iter(texts)).kept) == kept
    assert hapax.dedup([text.encode() for text in texts]).kept == [text.encode() for text in kept]


def test_index_and_types_of_other_columns_stay() -> None:
    frame = TABLE.to_pandas().assign(when=pd.Timestamp("2026-03-01"), kind=pd.Categorical(list("xyzxyzx"))).set_index("name")
    kept = hapax.dedup(frame).kept
    assert kept.index.tolist() == list("abdef") and kept.dtypes.equals(frame.dtypes) and kept.equals(frame.iloc[KEPT])
    frame = pl.DataFrame(ROWS).with_columns(
        pl.Series("kind", list("xyzxyzx"), dtype=pl.Categorical),
        pl.Series("words", [["a", "b"]] * 7),
        pl.Series("deep", [{"a": "b"}] * 7),
        pl.Series("anything", [object()] * 7, dtype=pl.Object),
    )
    kept = hapax.dedup(frame).kept
    assert kept.schema == frame.schema and kept["number"].to_list() == KEPT
    # Texts may be categories, too.
    frame = frame.with_columns(pl.col("text").cast(pl.Categorical))
    assert hapax.dedup(frame).kept["number"].to_list() == KEPT
    assert hapax.Fingerprinter().fingerprints(frame).to_pylist() == hapax.Fingerprinter().fingerprints(pa.array(TEXTS)).to_pylist()
    sparse = TABLE.to_pandas().rename(columns={"name": 7})
    assert numbers(hapax.dedup(sparse).kept) == KEPT


def test_splits_are_cleaned_across_each_other() -> None:
    data = datasets.Dataset.from_list(ROWS)
    splits = datasets.DatasetDict(train=data, test=data.remove_columns("name"))
    found = hapax.dedup(splits)
    assert isinstance(found.kept, datasets.DatasetDict)
    assert numbers(found.kept["train"]) == KEPT and numbers(found.kept["test"]) == [4, 6]
    assert decisions(found.removed)[2:4] == [(7, 0, "exact"), (8, 1, "exact")] or (8, 0, "near") in decisions(found.removed)


def test_one_rule_says_which_column_is_what(by: hapax.Fingerprinter) -> None:
    page, text = "<title>Tea</title><p>Green <b>tea</b> is a drink.", "not the page"
    table = pa.table({"text": [text, text], "html": [page, None]})
    expected = [by.html(page).fingerprint, by.text(text).fingerprint]
    assert by.fingerprints(table).to_pylist() == expected
    assert by.fingerprints(table.select(["html"])).to_pylist() == [expected[0], None]
    assert by.fingerprints(table, column="html").to_pylist() == [expected[0], None]
    assert by.fingerprints(table, kind="text").to_pylist() == [expected[1]] * 2
    assert by.fingerprints(table, column="html", kind="text").to_pylist() == [by.text(page).fingerprint, None]
    assert by.signatures(table).column("fingerprint").to_pylist() == expected
    # As dedup has it: tags do not make a difference, and HTML comes before text.
    twice = pa.table({"text": ["x " + story(1), "y " + story(2)], "html": [f"<p>{story(3)}", f"<div>{story(3)}</div>"]})
    assert decisions(hapax.dedup(twice).removed) == [(1, 0, "exact")]
    assert decisions(hapax.dedup(twice, text_field="text").removed) == []
    assert decisions(hapax.dedup([f"<p>{story(3)}", f"<div>{story(3)}</div>"], kind="html").removed) == [(1, 0, "exact")]
    for ask in (hapax.dedup, by.fingerprints):
        with pytest.raises(hapax.errors.ArgumentError, match="which column holds the documents.* number"):
            ask(TABLE.select(["number"]))
    with pytest.raises(hapax.errors.ArgumentError, match="no column 'story' for text; there are: name, text, number"):
        hapax.dedup(TABLE, text_field="story")
    with pytest.raises(hapax.errors.ArgumentError, match="2 columns 'text'; expected one"):
        hapax.dedup(pd.DataFrame([["a", "b"]], columns=["text", "text"]))
    with pytest.raises(hapax.errors.ArgumentError, match="text_field= names a column"):
        hapax.dedup(["a"], text_field="text")


def test_the_first_stays_unless_urls_or_rules_say_otherwise() -> None:
    texts = [story(1), story(2)] + [story(1) + f" {n}" for n in range(12)]
    # An id is not an address, however it looks; a column that is called score is the caller's.
    table = pa.table({"id": [f"https://{14 - n}" for n in range(14)], "score": range(14), "text": texts})
    assert {kept for _, kept, _ in decisions(hapax.dedup(table).removed)} == {0}
    assert {kept for _, kept, _ in decisions(hapax.dedup(table, keep="score").removed)} == {13}
    assert {kept for _, kept, _ in decisions(hapax.dedup(table, keep="longest").removed)} == {2}
    # The numbers of rows are no addresses: as text, 10 comes before 2.
    later = table.slice(1)
    assert {kept for _, kept, _ in decisions(hapax.dedup(later, keep="first-domain").removed)} == {1}
    addresses = table.append_column("url", [[f"https://a.test/{'x' * (14 - n)}" for n in range(14)]])
    assert {kept for _, kept, _ in decisions(hapax.dedup(addresses, keep="shortest-url").removed)} == {13}
    assert {kept for _, kept, _ in decisions(hapax.dedup(addresses, keep="first").removed)} == {0}
    dated = [{"text": story(1), "fetched": time} for time in (datetime(2026, 3, 2), datetime(2026, 3, 1, tzinfo=timezone.utc), "2026-02-01", None)]
    assert {kept for _, kept, _ in decisions(hapax.dedup(dated, keep="earliest").removed)} == {2}
    reason = hapax.dedup([story(1), story(1)]).removed[0].reason
    assert reason == "first-recorded: the kept page came first"


def test_rows_of_another_type_are_named() -> None:
    for rows, what in (
        (["a", b"x"], "row 1 is bytes; expected str, as row 0 is"),
        ([17], "row 0 is int; expected str, bytes or a dict"),
        ([{"text": "a"}, "b"], "row 1 is str; expected a dict, as the first is"),
        ([None, {"text": "a"}], "row 0 is NoneType; expected a dict, as the first is"),
        ([{"text": "a"}, {"text": 1.5}], "row 1: text is float; expected str, bytes or None"),
        ([{"text": "a", "url": 5}], "row 0: url is int; expected str or None"),
        (pd.Series(["a", 3], dtype=object), "row 1: text is int"),
        (np.zeros(3), "float64 holds no documents"),
        ("a.jsonl", "files=path"),
        (b"x", "files=path"),
        ({"text": ["a"]}, "a dict is not a table"),
        (17, "int holds no documents"),
        (None, "NoneType holds no documents"),
    ):
        with pytest.raises(TypeError, match=what):
            hapax.dedup(rows)
    with pytest.raises(hapax.errors.PageError, match="row 1: "):
        hapax.dedup([b"fine words", b"%PDF-1.7\n\x00\x01\x02"], kind="bytes")


def test_a_stream_may_begin_with_rows_without_text(by: hapax.Fingerprinter) -> None:
    found = hapax.dedup(iter([None, None, story(1), story(1)]))
    assert list(found.kept) == [None, None, story(1)] and found.summary["passed_over"] == {"null_text": 2}
    assert list(hapax.dedup(iter([None])).kept) == [None]
    with pytest.raises(TypeError, match="document 0 is NoneType"):
        list(by.fingerprints(iter([None, "a"])))


def test_names_of_files_are_never_guessed(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "pages.txt"
    file.write_text(story(1) + "\n" + story(1) + "\n")
    assert hapax.dedup([str(file), str(file) + " "]).kept == [str(file)]
    for found in (
        hapax.dedup(file, input_format="lines"),
        hapax.dedup([file], input_format="lines"),
        hapax.dedup(files=str(file), input_format="lines"),
        hapax.dedup(files=[str(tmp_path / "*.txt")], input_format="lines"),
    ):
        assert (found.summary["documents"], found.removed.num_rows, found.kept) == (2, 1, None)


def test_data_is_written_to_a_folder_and_compared_with_an_earlier_one(tmp_path: pathlib.Path) -> None:
    first = hapax.dedup(TABLE, tmp_path / "march")
    assert (tmp_path / "march" / "report.html").exists() and len(first.files) == 7 and numbers(first.kept) == KEPT
    april = pa.table({"text": [story(9), story(2), story(9) + " end"]})
    found = hapax.dedup(april, against=[tmp_path / "march"])
    assert [tuple(row.values()) for row in found.removed.select(["row", "kept_row", "outcome", "earlier"]).to_pylist()] == [
        (1, None, "exact", "2"),
        (2, 0, "near", None),
    ]
    assert found.kept.num_rows == 1


def test_a_stream_larger_than_memory_is_read_in_bounded_memory(by: hapax.Fingerprinter) -> None:
    # 190 MB of texts, in much less beyond what is there before.
    script = (
        "import hapax, resource\n"
        "by = hapax.Fingerprinter()\n"
        "def texts():\n"
        "    for n in range(500):\n"
        "        yield f'{n} ' * 100_000\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert sum(1 for _ in by.fingerprints(texts())) == 500\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000\n"
        "kept = hapax.dedup(texts()).kept\n"
        "assert sum(1 for _ in kept) == 500\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_signatures_of_a_stream_number_its_rows_on(by: hapax.Fingerprinter) -> None:
    parts = list(by.signatures(TABLE.to_reader(3)))
    assert [id for part in parts for id in part.column("id").to_pylist()] == [str(n) for n in range(7)]
    assert pa.concat_tables(parts).equals(by.signatures(TABLE))
    assert [len(part) for part in by.fingerprints(iter([["a", "b"], ["c"]]))] == [2, 1]
    with pytest.raises(TypeError, match="the stream holds str"):
        list(by.fingerprints(iter(["a"]), column="text"))
    with pytest.raises(hapax.errors.PageError, match="from document 1024 on: document 0"):
        list(by.fingerprints(iter([b"fine"] * 1024 + [b"%PDF-1.7\n\x00\x01"]), kind="bytes"))


def test_temporary_files_go(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = hapax.dedup(iter(TABLE.to_batches(max_chunksize=2)))
    kept = found.kept
    del found
    gc.collect()
    # The stream needs its file until it is read.
    assert list(tmp_path.iterdir()) and numbers(list(kept)) == KEPT
    del kept
    with pytest.raises(TypeError):
        hapax.dedup(iter([["fine"], [17]]))
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_page_s_own_date_is_not_the_time_of_the_crawl_and_a_day_that_does_not_exist_is_an_error() -> None:
    original = {"id": "original", "url": "http://a/1", "text": story(1), "fetched": "2026-01-02"}
    copier = {"id": "copier", "url": "http://b/1", "text": story(1), "fetched": None}
    own = [{**original, "date": "2026-01-02", "timestamp": 5}, {**copier, "date": "1999-01-02", "timestamp": 1}]
    assert [row["id"] for row in hapax.dedup(own).kept] == ["original"]
    with pytest.raises(ValueError, match="row 1: fetched is \"2026-02-30\""):
        hapax.dedup([original, {**copier, "fetched": "2026-02-30"}])
