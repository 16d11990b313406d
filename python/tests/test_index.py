"""The index finds all and only what comparing everything finds."""

from __future__ import annotations

import os
import pickle
import random
import threading

import numpy as np
import pyarrow as pa
import pytest

import hapax


def planted(count: int, seed: int = 5) -> list[int]:
    """Fingerprints gathered around a few centres, so that there is something to find."""
    rng = random.Random(seed)
    centres = [rng.getrandbits(64) for _ in range(max(1, count // 20))]
    made = []
    for _ in range(count):
        bits = rng.choice(centres)
        for _ in range(rng.randrange(8)):
            bits ^= 1 << rng.randrange(64)
        made.append(bits)
    return made


def scan(entries: dict[int, int], query: int, within: int) -> list[tuple[int, int]]:
    near = ((bin(bits ^ query).count("1"), id) for id, bits in entries.items())
    return [(id, distance) for distance, id in sorted(near) if distance <= within]


@pytest.mark.parametrize("count", [0, 1, 300, 12_000])
def test_an_index_answers_as_a_scan_through_additions_and_removals(count: int) -> None:
    bits = planted(count)
    entries = dict(enumerate(bits))
    index = hapax.Index.build(bits, within=6)
    rng = random.Random(1)
    for step in range(200):
        id = rng.randrange(count + 100)
        if rng.random() < 0.5:
            assert index.remove(id) == (id in entries)
            entries.pop(id, None)
        else:
            entries[id] = (bits or [0])[step % max(1, count)] ^ (1 << step % 64)
            index.add(id, entries[id])
    assert len(index) == len(entries)
    for query in [rng.choice(bits or [0]) for _ in range(20)]:
        for within in (0, 3, 6):
            assert index.find(query, within) == scan(entries, query, within)
    assert all((id in index) == (id in entries) for id in range(count + 100))


def test_many_queries_in_every_form_agree() -> None:
    bits = planted(3000)
    index = hapax.Index.build(bits, ids=[id * 7 for id in range(3000)], within=4)
    queries = [*bits[:500], 0]
    listed = index.find_many(queries, threads=3)
    assert listed == [index.find(query) for query in queries]
    flat = [(at, m.id, m.distance) for at, found in enumerate(listed) for m in found]
    arrays = index.find_many(np.array(queries, dtype=np.uint64), threads=2)
    assert list(zip(*(array.tolist() for array in arrays))) == flat
    table = index.find_many(pa.chunked_array([queries[:100], queries[100:]], pa.uint64()))
    assert [tuple(row.values()) for row in table.to_pylist()] == flat
    assert table.schema.types == [pa.uint64(), pa.uint64(), pa.uint8()]
    assert index.find_many(pa.array(queries[2:9], pa.uint64()).slice(1)).num_rows == sum(
        len(found) for found in listed[3:9]
    )
    assert index.find_many([], within=2) == []


def test_saving_follows_no_link_and_leaves_one_file_like_any_other(tmp_path) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "in"
    precious.write_text("mine")
    folder.mkdir()
    path = folder / "one.hpx"
    guessed = folder / f"one.hpx.{os.getpid()}.new"
    for link in (guessed, path):
        link.symlink_to(precious)
    hapax.Index.build([1, 2, 3]).save(path)
    guessed.unlink()
    assert precious.read_text() == "mine" and os.listdir(folder) == ["one.hpx"]
    assert path.stat().st_mode == precious.stat().st_mode and not path.is_symlink()


def test_a_saved_index_is_the_same(tmp_path) -> None:
    bits = planted(9000)
    index = hapax.Index.build(bits, within=6, recipe="web-2:0123456789abcdef")
    index.remove_many(range(0, 9000, 3))
    index.save(tmp_path / "one.hpx")
    again = hapax.Index.load(tmp_path / "one.hpx", within=6)
    assert (len(again), again.recipe, again.within) == (6000, index.recipe, 6)
    assert again.find_many(bits[:200]) == index.find_many(bits[:200])
    again.save(tmp_path / "two.hpx")
    assert (tmp_path / "one.hpx").read_bytes() == (tmp_path / "two.hpx").read_bytes()
    hapax.Index(within=2).save(tmp_path / "empty.hpx")
    assert len(hapax.Index.load(tmp_path / "empty.hpx")) == 0
    assert [file.name for file in tmp_path.iterdir() if file.suffix != ".hpx"] == []
    damaged = bytearray((tmp_path / "one.hpx").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "bad.hpx").write_bytes(damaged)
    with pytest.raises(hapax.errors.IndexFileError) as refused:
        hapax.Index.load(tmp_path / "bad.hpx")
    assert refused.value.path.endswith("bad.hpx") and "checksum" in refused.value.reason


def test_searches_go_on_while_others_add() -> None:
    index = hapax.Index(within=3)
    bits = planted(2000)
    errors = []

    def search() -> None:
        try:
            for query in bits[:300]:
                index.find(query)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    [thread.start() for thread in threads]
    for id, one in enumerate(bits):
        index.add(id, one)
    [thread.join() for thread in threads]
    assert not errors and len(index) == 2000 and index.memory_bytes > 16_000


def test_wrong_numbers_are_refused() -> None:
    index = hapax.Index(within=3)
    for wrong in (-1, 1 << 64):
        with pytest.raises((hapax.errors.ArgumentError, OverflowError)):
            index.add(1, wrong)
        with pytest.raises(OverflowError):
            index.find(wrong)
    with pytest.raises(TypeError):
        index.add("a", 1)
    with pytest.raises(TypeError):
        index.find(1.5)
    with pytest.raises(TypeError, match="float64"):
        index.find_many(np.array([1.5]))
    with pytest.raises(hapax.errors.ArgumentError, match="negative"):
        index.find_many(np.array([-1]))
    with pytest.raises(hapax.errors.ArgumentError, match="nulls"):
        index.find_many(pa.array([1, None]))
    with pytest.raises(hapax.errors.ArgumentError, match="answers within 3 bits, 4 was asked"):
        index.find(1, within=4)
    with pytest.raises(hapax.errors.ArgumentError, match="0 to 64"):
        hapax.Index(within=65)
    with pytest.raises(hapax.errors.ArgumentError):
        hapax.Index.build([1, 2], ids=[1, 1])
    with pytest.raises(hapax.errors.ArgumentError, match="1 ids for 2"):
        hapax.Index.build([1, 2], ids=[1])


def test_plans_say_what_an_index_takes() -> None:
    plan = hapax.plan(8_000_000_000, within=3, memory=128 * 10**9)
    assert plan.choice.fits and plan.choice.total_bytes <= 128 * 10**9
    with pytest.raises(hapax.errors.ArgumentError, match="no index of 8000000000 pages fits"):
        hapax.plan(8_000_000_000, memory=10**9)
    assert hapax.Index.build([1, 2, 3]).plan().choice.engine == "scan"


def test_an_index_is_pickled() -> None:
    bits = planted(9000)
    index = hapax.Index.build(bits, within=5, recipe="web-2:0123456789abcdef")
    index.add(99_999, bits[0])
    index.remove(3)
    again = pickle.loads(pickle.dumps(index))
    assert (len(again), again.within, again.recipe) == (9000, 5, index.recipe)
    assert again.find_many(bits[:50]) == index.find_many(bits[:50]) and 3 not in again
