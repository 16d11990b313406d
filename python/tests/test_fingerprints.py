"""Documents in every form they come in have the fingerprints of their texts."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hapax
from conftest import story

TEXTS = [story(n) for n in range(50)] + ["", "Grüner Tee 日本語のページ。"]


@pytest.fixture(scope="module")
def expected(by: hapax.Fingerprinter) -> list[int | None]:
    return [by.text(text).fingerprint for text in TEXTS]


def test_a_page_without_words_has_no_fingerprint(by: hapax.Fingerprinter) -> None:
    nothing = by.text(" … ")
    assert (nothing.fingerprint, nothing.hex, nothing.weak_bits, nothing.sums, nothing.sketch) == (None,) * 5
    assert nothing.distance(by.text("tea")) is None and nothing.similarity(nothing) is None


@pytest.mark.parametrize("threads", [0, 1, 3, 64])
def test_lists_of_str_and_bytes_on_any_number_of_threads(by, expected, threads) -> None:
    assert by.fingerprints(TEXTS, threads=threads) == expected
    assert by.fingerprints(tuple(TEXTS), threads=threads) == expected
    encoded = [text.encode() for text in TEXTS]
    assert by.fingerprints(encoded, threads=threads) == expected
    assert [it.fingerprint for it in by.signatures(TEXTS, threads=threads)] == expected
    assert by.fingerprints([]) == []


ARROW_FORMS = {
    "string": lambda: pa.array(TEXTS),
    "large_string": lambda: pa.array(TEXTS, pa.large_string()),
    "string_view": lambda: pa.array(TEXTS, pa.string_view()),
    "binary": lambda: pa.array([t.encode() for t in TEXTS], pa.binary()),
    "large_binary": lambda: pa.array([t.encode() for t in TEXTS], pa.large_binary()),
    "binary_view": lambda: pa.array([t.encode() for t in TEXTS], pa.binary_view()),
    "slice": lambda: pa.array(["x", *TEXTS, "y"]).slice(1, len(TEXTS)),
    "chunked": lambda: pa.chunked_array([TEXTS[:7], [], TEXTS[7:]]),
    "table": lambda: pa.table({"id": range(len(TEXTS)), "text": TEXTS}),
    "record batch": lambda: pa.record_batch({"text": TEXTS}),
    "pandas series": lambda: pd.Series(TEXTS),
    "pandas objects": lambda: pd.Series(TEXTS, dtype=object),
    "pandas frame": lambda: pd.DataFrame({"n": 1, "text": TEXTS}),
    "polars series": lambda: pl.Series(TEXTS),
    "polars frame": lambda: pl.DataFrame({"text": TEXTS}),
}


@pytest.mark.parametrize("form", ARROW_FORMS)
def test_arrow_in_every_form(by, expected, form) -> None:
    found = by.fingerprints(ARROW_FORMS[form](), threads=2)
    assert found.type == pa.uint64() and found.to_pylist() == expected


def test_nulls_stay_nulls_and_columns_have_names(by, expected) -> None:
    table = pa.table({"name": ["a", "b", "c"], "story": [TEXTS[0], None, TEXTS[1]]})
    assert by.fingerprints(table, column="story").to_pylist() == [expected[0], None, expected[1]]
    assert by.fingerprints(pd.Series([TEXTS[0], None])).to_pylist() == [expected[0], None]
    signatures = by.signatures(table, column="story", id="name")
    assert signatures.column("id").to_pylist() == ["a", "b", "c"]
    assert signatures.column("fingerprint").to_pylist() == [expected[0], None, expected[1]]
    one = by.text(TEXTS[0])
    row = signatures.slice(0, 1).to_pylist()[0]
    assert (row["sketch"], row["content"].hex(), row["words"]) == (one.sketch, one.content, one.words)
    assert (tuple(row["weak_bits"]), row["recipe"], row["too_short"]) == (one.weak_bits, by.recipe, False)
    with pytest.raises(hapax.errors.ArgumentError, match="there are: name, story"):
        by.fingerprints(table, column="text")
    with pytest.raises(hapax.errors.ArgumentError, match="which column"):
        by.fingerprints(table)


def test_numpy_strings_are_a_list(by, expected) -> None:
    assert by.fingerprints(np.array(TEXTS[:3], dtype=object)) == expected[:3]


def test_html_and_bytes(by) -> None:
    html = "<title>Tea</title><nav>Home</nav><p>grüner &amp; schwarzer Tee, viel davon"
    assert by.html(html) == by.page(html.encode("latin-1"), content_type="text/html; charset=latin-1")
    assert by.extract(html) == "Tea Home grüner & schwarzer Tee, viel davon"
    one = by.html(html).fingerprint
    assert by.fingerprints([html], kind="html") == [one]
    assert by.fingerprints([html.encode()], kind="bytes") == [one]
    assert by.fingerprints(pa.array([html]), kind="html").to_pylist() == [one]
    assert by.text(html).fingerprint != one


def test_signatures_compare_and_travel(by) -> None:
    one, two = by.text(story(1)), by.text(story(1) + " end")
    assert one.distance(two) == bin(one.fingerprint ^ two.fingerprint).count("1")
    assert 0.9 < one.similarity(two) < 1.0
    assert len(one.weak_bits) == len(one.sums) == 64 and len(one.sketch) == 128
    assert [abs(one.sums[bit]) for bit in one.weak_bits] == sorted(abs(s) for s in one.sums)
    again = pickle.loads(pickle.dumps(one))
    assert again == one and hash(again) == hash(one) and again != two
    nothing = by.text("")
    assert pickle.loads(pickle.dumps(nothing)) == nothing
    assert repr(one) == f"Signature({one.hex}, 120 words)"
    other = hapax.Fingerprinter("stream-words").text(story(1))
    with pytest.raises(hapax.errors.RecipeMismatchError, match="web-2.*stream-words"):
        one.distance(other)
    again = pickle.loads(pickle.dumps(by))
    assert again.recipe == by.recipe and again.text("tea") == by.text("tea")


def test_recipes_have_names_files_and_tables(tmp_path) -> None:
    assert hapax.recipes() == ["web-2", "stream-words", "khan-words", "sood-tfidf", "zhu-shingles"]
    recipe = tmp_path / "mine.toml"
    recipe.write_text("name = 'mine'\nsketch-shingle = 3\n")
    assert hapax.Fingerprinter(recipe).recipe.startswith("mine:")
    assert hapax.Fingerprinter(main_content=True).recipe.startswith("web-2-main:")
    with pytest.raises(hapax.errors.RecipeError, match="frequency table"):
        hapax.Fingerprinter("sood-tfidf")
    with pytest.raises(FileNotFoundError) as missing:
        hapax.Fingerprinter(str(tmp_path / "none.toml"))
    assert missing.value.filename.endswith("none.toml") and missing.value.errno == 2


def test_a_comparison_says_why(by) -> None:
    one = "the quick brown fox jumps over the lazy dog and then runs far away"
    seen = by.compare(one, one.replace("dog", "cat"))
    assert seen.distance == len(seen.differing_bits) == seen.left.distance(seen.right)
    assert seen.shingles == (5, 5, 5) and seen.jaccard == pytest.approx(5 / 15)
    assert 0 < seen.containment < 1 and 0 < seen.cosine < 1 and seen.standard_error > 0
    assert "".join(text for text, shared in seen.right_passages if not shared) == "cat"
    for bit, left, right, left_rank, right_rank in seen.differing_bits:
        assert (seen.left.sums[bit], seen.right.sums[bit]) == (left, right)
        assert seen.left.weak_bits[left_rank - 1] == bit == seen.right.weak_bits[right_rank - 1]
    page = seen._repr_html_()
    assert "only-a" in page and "dog" in page and page.startswith('<div class="hapax-comparison">')
    hostile = hapax.compare("<script>alert(1)</script> & more words here", "x")._repr_html_()
    assert "<script>" not in hostile
    assert hapax.compare("", "").distance is None
    assert repr(hapax.compare("", "x")) == "Comparison(no words)"


def test_threads_of_python_share_a_fingerprinter(by, expected) -> None:
    wrong = []

    def work() -> None:
        for _ in range(20):
            if by.fingerprints(TEXTS, threads=2) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_the_lock_is_released_while_the_engine_works(by) -> None:
    ticks, done = [0], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks[0] += 1

    thread = threading.Thread(target=tick)
    big = [story(n, 20_000) for n in range(20)]
    thread.start()
    before = ticks[0]
    by.fingerprints(big)
    after = ticks[0]
    done.set()
    thread.join()
    # With the lock held, the other thread could not have moved between the two looks.
    assert after - before > 1000
