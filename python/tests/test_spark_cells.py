"""New pages joined with stored ones by length, against comparing every page with every other by the definition."""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa  # noqa: E402
import pyarrow.compute  # noqa: E402

import hapax.spark  # noqa: E402
from hapax._hapax import CellsCore, FingerprinterCore, learn_cells  # noqa: E402
from hapax.errors import ArgumentError, CorpusError, RecipeMismatchError  # noqa: E402
from hapax.spark import batch  # noqa: E402

from spark_cluster import spark  # noqa: E402, F401

Pages = list[tuple[str, str]]
Pairs = dict[tuple[str, str], float]
#: Every twelfth word or so is one of these, so that a few edits change the language a page is guessed to be in.
SMALL = ["the", "and", "of", "to", "in", "is", "that", "was"]


def planted(seed: int) -> tuple[Pages, Pages]:
    """New and stored pages: collisions, copies, light and heavy edits, repetitions, and cuts at the end."""
    rng = random.Random(seed)
    words = ["".join(rng.choice("bcdfghklmnprtvz") + rng.choice("aeiou") for _ in range(rng.randint(2, 4))) for _ in range(900)]

    def word() -> str:
        return rng.choice(SMALL) if rng.random() < 0.085 else rng.choice(words)

    stored = [[word() for _ in range(rng.choice([5, 30, 60, 90, 150, 400]))] for _ in range(300)]
    new = []
    for number in range(200):
        page = list(rng.choice(stored)) if number % 4 else [word() for _ in range(60)]
        for _ in range(rng.choice([0, 0, 1, 2, 3, 5, 8])):
            page[rng.randrange(len(page))] = word()
        if rng.random() < 0.3:
            page = page[: len(page) * rng.randint(75, 99) // 100 + 1]
        if rng.random() < 0.1:
            page = page + page
        new.append(page)
    return (
        [(f"http://new.test/{at}", " ".join(page)) for at, page in enumerate(new)],
        [(f"http://old.test/{at}", " ".join(page)) for at, page in enumerate(stored)],
    )


def all_pairs(new: Pages, stored: Pages, least: float) -> Pairs:
    """By the definition of Jaccard similarity."""
    size = json.loads(batch.make_spec("web-2", None, False, {}).engine().settings())["shingle"]

    def shingles(text: str) -> set[tuple[str, ...]]:
        words = text.split()
        return {tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1))}

    sets = [(id, shingles(text)) for id, text in stored]
    pairs = {}
    for id, text in new:
        own = shingles(text)
        for other, theirs in sets:
            shared = len(own & theirs)
            similarity = shared / (len(own) + len(theirs) - shared)
            if similarity >= least:
                pairs[id, other] = similarity
    return pairs


def check_same(rows: list[Any], expected: Pairs) -> None:
    assert len(rows) == len({(row["new"], row["stored"]) for row in rows}), "a pair comes twice"
    assert {(row["new"], row["stored"]): pytest.approx(row["similarity"]) for row in rows} == expected


def batch_of(pages: Pages) -> Any:
    return pa.RecordBatch.from_pydict({"id": [id for id, _ in pages], "document": [text for _, text in pages]})


def learnt(pages: Pages, dimensions: int, machines: int, **more: Any) -> str:
    settings = (dimensions, machines, 0.8, more.get("rho"), more.get("by_language", True))
    return learn_cells(FingerprinterCore("web-2", None, False), [batch_of(pages)], "text", settings)


def core_of(mapping: str, least: float = 0.8, bound: str = "exact") -> CellsCore:
    return CellsCore(FingerprinterCore("web-2", None, False), mapping, least, bound, "text")


def machine_by_machine(core: CellsCore, new: Pages, stored: Pages) -> list[Any]:
    """What an engine does: rows to machines, in no good order, and every machine by itself."""
    rows = [*core.send(batch_of(new)), *core.place(batch_of(stored))]
    table = pa.Table.from_batches(rows)
    found = []
    for machine in set(table["machine"].to_pylist()):
        here = table.filter(pa.compute.equal(table["machine"], machine))
        found += [row for pairs in core.compare(here.to_batches(max_chunksize=50)) for row in pairs.to_pylist()]
    return found


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("least", [0.5, 0.8, 1.0])
def test_the_kernels_find_what_comparing_with_everything_finds(dimensions: int, least: float) -> None:
    new, stored = planted(dimensions)
    core = core_of(learnt(stored, dimensions, 8), least)
    assert core.machines == 8
    expected = all_pairs(new, stored, least)
    assert len(expected) > 20
    check_same(machine_by_machine(core, new, stored), expected)


def test_a_stored_page_has_one_cell_and_a_new_one_does_not_go_everywhere() -> None:
    new, stored = planted(4)
    core = core_of(learnt(stored, 2, 16, by_language=False), 0.9)
    placed = [row for rows in core.place(batch_of(stored)) for row in rows.to_pylist()]
    assert [row["id"] for row in placed] == [id for id, _ in stored]
    assert all(len(row["cells"]) == 1 and len(row["lengths"]) == 2 for row in placed)
    sent = [row for rows in core.send(batch_of(new)) for row in rows.to_pylist()]
    assert len({(row["id"], row["machine"]) for row in sent}) == len(sent)
    assert len(sent) < len(new) * 16 / 2


def test_the_sampled_bound_finds_the_share_it_states_for_any_number_of_machines() -> None:
    new, stored = planted(5)
    answers = []
    for machines in (1, 8):
        core = core_of(learnt(stored, 3, machines), 0.7, "sampled")
        answers.append({(row["new"], row["stored"]) for row in machine_by_machine(core, new, stored)})
    expected = all_pairs(new, stored, 0.7)
    assert answers[0] == answers[1] and answers[0] < set(expected)
    # New pages with each other are pairs of a sample of both; so are stored ones.
    pairs, found = core.recall([batch_of(new), batch_of(stored)])
    everything = {tuple(sorted(pair)) for pair in all_pairs(new + stored, new + stored, 0.7) if pair[0] != pair[1]}
    assert pairs == len(everything) and 0 < found < pairs
    assert core_of(learnt(stored, 3, 8), 0.7).recall([batch_of(new), batch_of(stored)]) == (pairs, pairs)


def test_a_join_on_spark_finds_what_comparing_with_everything_finds(spark: Any, tmp_path: pathlib.Path) -> None:
    new, stored = planted(6)
    news = spark.createDataFrame(new, "url string, text string").repartition(3)
    olds = spark.createDataFrame(stored, "url string, text string").repartition(3)
    mapping = hapax.spark.learn_mapping(olds, machines=4, dimensions=2)
    mapping.save(tmp_path / "mapping.toml")
    expected = all_pairs(new, stored, 0.6)
    assert len(expected) > 20
    found = hapax.spark.join_by_length(news, olds, tmp_path / "mapping.toml", min_similarity=0.6)
    check_same(found.collect(), expected)

    # Stored pages that were placed earlier; one row twice changes nothing.
    placed = hapax.spark.place_by_length(olds, mapping)
    placed.union(placed.limit(5)).write.partitionBy("machine").parquet(str(tmp_path / "placed"))
    kept = spark.read.parquet(str(tmp_path / "placed"))
    check_same(hapax.spark.join_by_length(news, kept, mapping).collect(), all_pairs(new, stored, 0.8))

    # Placed by a mapping of other dimensions, or by another bound: refused at once.
    other = hapax.spark.learn_mapping(olds, machines=4, dimensions=3)
    with pytest.raises(RecipeMismatchError, match="placed by another mapping"):
        hapax.spark.join_by_length(news, kept, other)
    with pytest.raises(RecipeMismatchError, match="place them again"):
        hapax.spark.join_by_length(news, kept, mapping, bound="sampled")
    # Also where the table no longer says so itself.
    silent = spark.createDataFrame(kept.rdd, kept.schema.fromJson(without_marks(kept.schema)))
    with pytest.raises(Exception, match="placed by another mapping"):
        hapax.spark.join_by_length(news, silent, other).collect()
    with pytest.raises(ArgumentError, match="lack the column 'features'"):
        hapax.spark.join_by_length(news, kept.drop("features"), mapping)

    recall = hapax.spark.recall_by_length(olds.union(news), mapping, min_similarity=0.6)
    assert 0.3 < recall.share <= 1.0 and recall.pairs >= len(expected)


def without_marks(schema: Any) -> dict[str, Any]:
    told: dict[str, Any] = schema.jsonValue()
    for field in told["fields"]:
        field["metadata"] = {}
    return told


def test_bad_input_is_refused_before_anything_runs(spark: Any, tmp_path: pathlib.Path) -> None:
    pages = spark.createDataFrame(planted(7)[1], "url string, text string")
    mapping = hapax.spark.LengthMapping(learnt(planted(7)[1], 2, 4))
    join = hapax.spark.join_by_length
    with pytest.raises(ArgumentError, match="new: which column holds the documents.*url, words"):
        join(pages.withColumnRenamed("text", "words"), pages, mapping)
    with pytest.raises(ArgumentError, match="stored: which column names the documents.*address, text"):
        join(pages, pages.withColumnRenamed("url", "address"), mapping)
    with pytest.raises(ArgumentError, match="stored: no column 'body'|new: no column 'body'"):
        join(pages, pages, mapping, text_field="body")
    with pytest.raises(ArgumentError, match="no option 'colour'"):
        join(pages, pages, mapping, colour="red")
    with pytest.raises(ArgumentError, match="new is a DataFrame, not str"):
        join("pages.parquet", pages, mapping)
    with pytest.raises(ArgumentError, match="neither 'exact' nor 'sampled'"):
        join(pages, pages, mapping, bound="loose")
    with pytest.raises(ArgumentError, match="similarity of 1.5"):
        join(pages, pages, mapping, min_similarity=1.5)
    with pytest.raises(RecipeMismatchError, match="learnt with the recipe web-2.*read with zhu-shingles"):
        join(pages, pages, mapping, recipe="zhu-shingles")
    with pytest.raises(FileNotFoundError):
        join(pages, pages, tmp_path / "none.toml")
    (tmp_path / "other.toml").write_text(mapping.text.replace("dimensions = 2", "dimensions = 3"))
    with pytest.raises(ArgumentError, match="other.toml: it says 3 dimensions and 4 machines and holds 2"):
        join(pages, pages, tmp_path / "other.toml")
    with pytest.raises(ArgumentError, match="5 dimensions|9 dimensions"):
        hapax.spark.learn_mapping(pages, machines=4, dimensions=9)


def test_rows_that_are_damaged_or_nameless_are_refused() -> None:
    _, stored = planted(8)
    core = core_of(learnt(stored, 2, 4))
    nameless = pa.RecordBatch.from_pydict({"id": pa.array([None], pa.string()), "document": ["a page of some words"]})
    with pytest.raises(CorpusError, match="has no id"):
        core.place(nameless)
    rows = core.place(batch_of(stored[:3]))[0]
    cut = rows.set_column(rows.schema.get_field_index("features"), "features", pa.array([b"12345678", b"1234", b""]))
    with pytest.raises(CorpusError, match="features of \"http://old.test/1\" are damaged"):
        core.compare([cut])
    with pytest.raises(CorpusError, match="no column \"cells\""):
        core.compare([rows.drop_columns(["cells"])])
    # Neither a null nor a page without words is like anything.
    empty = pa.RecordBatch.from_pydict({"id": ["a", "b"], "document": pa.array([None, " . "], pa.string())})
    assert core.place(empty) == [] and core.send(empty) == [] and core.compare([]) == []


def test_the_steps_of_a_side_are_made_once_in_a_process() -> None:
    mapping = hapax.spark.LengthMapping(learnt(planted(9)[1], 1, 2))
    side = hapax.spark.cells.Side(mapping, None, "exact", "web-2", None, False)
    assert side.core("text") is side.core("text")
    assert list(hapax.spark.cells.compare(side.text("text"))(iter([]))) == []
