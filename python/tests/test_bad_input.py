"""Whatever comes in, a Python exception comes out: never an abort, never a panic."""

from __future__ import annotations

import pathlib
import struct
import subprocess
import sys

import pyarrow as pa
import pytest

import hapax
from conftest import story


@pytest.mark.parametrize("wrong", [None, 1, 1.5, ["a"], {"a": 1}, object(), bytearray(b"x"), memoryview(b"x")])
def test_a_document_of_another_type(by: hapax.Fingerprinter, wrong: object) -> None:
    for ask in (by.text, by.html, by.extract, lambda it: by.compare("x", it), lambda it: by.compare(it, "x")):
        with pytest.raises(TypeError, match="str or bytes"):
            ask(wrong)
    with pytest.raises(TypeError):
        by.page(wrong)
    for many in (["fine", wrong], [b"fine", wrong], [wrong]):
        with pytest.raises(TypeError, match="document [01] is"):
            by.fingerprints(many)


def test_none_and_single_documents_are_not_many(by: hapax.Fingerprinter) -> None:
    with pytest.raises(TypeError):
        by.fingerprints(None)
    with pytest.raises(TypeError, match="a list"):
        by.fingerprints("one text")
    with pytest.raises(TypeError, match="document 1 is bytes; expected str, as document 0 is"):
        by.fingerprints(["a", b"b"])
    for ask in (by.fingerprints, hapax.dedup):
        with pytest.raises(TypeError, match="a dict is not a table"):
            ask({"text": ["a"]})
    with pytest.raises(hapax.errors.ArgumentError, match="no column 'story' for text; there are: text"):
        next(by.fingerprints(pa.table({"text": ["a"]}).to_reader(), column="story"))
    with pytest.raises(TypeError):
        by.fingerprints(17)
    for column in (pa.array([1, 2]), pa.array([["a"]]), pa.table({"text": [1.5]})):
        with pytest.raises(TypeError, match="not text or bytes"):
            by.fingerprints(column)


def test_surrogates_are_an_encoding_error(by: hapax.Fingerprinter) -> None:
    for ask in (by.text, by.html, lambda it: by.compare(it, "x")):
        with pytest.raises(UnicodeEncodeError, match="the document has half of a surrogate pair"):
            ask("words \ud800 more")
    with pytest.raises(UnicodeEncodeError, match="document 1 has half"):
        by.fingerprints(["fine", "words \ud800 more"])
    with pytest.raises(UnicodeEncodeError, match="text of row 1 has half"):
        hapax.dedup(["fine", "words \ud800 more"])


def test_bytes_that_are_no_utf8_are_decoded_and_binaries_refused(by: hapax.Fingerprinter) -> None:
    assert by.text(b"caf\xe9 au lait").words == 3
    pdf, zip_file = b"%PDF-1.7\n\x00\x01\x02\x03", b"PK\x03\x04" + bytes(100)
    for binary in (pdf, zip_file):
        with pytest.raises(hapax.errors.PageError):
            by.page(binary)
    with pytest.raises(hapax.errors.PageError, match="document 2: "):
        by.fingerprints([b"fine words", b"more words", pdf], kind="bytes", threads=2)
    found = by.fingerprints([b"fine words", pdf], kind="bytes", errors="none")
    assert found == [by.text("fine words").fingerprint, None]
    assert by.fingerprints(pa.array([pdf]), kind="bytes", errors="none").to_pylist() == [None]
    with pytest.raises(ValueError, match="errors="):
        by.fingerprints([], errors="ignore")


def test_hostile_and_huge_texts_end_well(by: hapax.Fingerprinter) -> None:
    for text in ("\x00" * 1000, "<" * 100_000, "a" * 5_000_000, "\U0010ffff" * 1000, "🏳️‍🌈" * 10_000, "\u0301" * 100_000):
        by.text(text)
        by.html(text)
    nested = "<div>" * 200_000 + "deep"
    assert by.html(nested).words == 1
    huge = "word " * 20_000_000  # 100 MB: more than is read of a page
    assert by.text(huge).words == (64 << 20) // 5 + 1


def test_settings_that_cannot_be(by: hapax.Fingerprinter, tmp_path: pathlib.Path) -> None:
    with pytest.raises(hapax.errors.ArgumentError, match='kind "pdf"'):
        by.fingerprints(["x"], kind="pdf")
    with pytest.raises(hapax.errors.ArgumentError, match="kind 'pdf'"):
        hapax.dedup(["x"], kind="pdf")
    with pytest.raises(hapax.errors.ArgumentError, match="threads=: 'float'"):
        hapax.dedup(["x"], threads=1.5)
    with pytest.raises(hapax.errors.ArgumentError, match="within=: 'str'"):
        hapax.dedup(["x"], within="3")
    for count in (-1, 10**6):
        with pytest.raises(hapax.errors.ArgumentError, match=f"threads={count}: expected 0"):
            by.fingerprints(["x"], threads=count)
        with pytest.raises(hapax.errors.ArgumentError, match=f"threads={count}: expected 0"):
            hapax.dedup(["x"], threads=count)
    with pytest.raises(TypeError):
        by.fingerprints(["x"], threads="two")
    with pytest.raises(hapax.errors.RecipeError):
        hapax.Fingerprinter("")
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(hapax.errors.RecipeError) as refused:
        hapax.Fingerprinter(str(bad))
    assert refused.value.path == str(bad) and "UTF-8" in refused.value.reason
    with pytest.raises(hapax.errors.RecipeError):
        hapax.Fingerprinter("sood-tfidf", frequencies=str(bad))
    with pytest.raises(IsADirectoryError):
        hapax.Fingerprinter("sood-tfidf", frequencies=str(tmp_path))
    with pytest.raises(TypeError):
        hapax.pairs(None)
    with pytest.raises(TypeError):
        hapax.dedup(17)
    with pytest.raises(FileNotFoundError):
        hapax.pairs(tmp_path / "none.jsonl")
    lines = tmp_path / "lines.txt"
    lines.write_text("no fingerprints\n")
    with pytest.raises(hapax.errors.CorpusError, match="line 1") as refused:
        hapax.pairs(lines)
    assert refused.value.path == str(lines)


def column_of(kind: pa.DataType, offsets: list[int], data: bytes) -> pa.Array:
    """A column that nobody has looked at, as pyarrow makes it of a file."""
    size = "<i" if kind in (pa.string(), pa.binary()) else "<q"
    held = pa.py_buffer(b"".join(struct.pack(size, offset) for offset in offsets))
    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, held, pa.py_buffer(data)])


#: No UTF-8, offsets that go back, and offsets that lead out of the data.
CONTRADICTIONS = [([0, 4, 6], b"fine\xff\xfe"), ([0, 6, 4, 6], b"finely"), ([0, 9000, 6], b"finely")]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("offsets, data", CONTRADICTIONS)
def test_arrow_data_that_contradicts_itself_is_refused(by: hapax.Fingerprinter, kind: pa.DataType, offsets: list[int], data: bytes) -> None:
    column = column_of(kind, offsets, data)
    table = pa.table({"text": column, "fine": pa.array(["x"] * len(column))})
    for ask in (
        lambda: by.fingerprints(column),
        lambda: by.fingerprints(table),
        lambda: by.fingerprints(pa.chunked_array([pa.array(["x"], kind), column])),
        lambda: by.signatures(table, kind="html"),
        lambda: by.signatures(table, column="fine", id="text"),
    ):
        with pytest.raises(hapax.errors.ArrowError, match="contradicts itself"):
            ask()
    assert by.fingerprints(table, column="fine").null_count == 0


@pytest.mark.parametrize("offsets, data", CONTRADICTIONS)
def test_pairs_of_arrow_data_that_contradicts_itself_are_refused(by: hapax.Fingerprinter, offsets: list[int], data: bytes) -> None:
    column = column_of(pa.string(), offsets, data)
    signatures = by.signatures(pa.table({"text": [story(at) for at in range(len(column))]}))
    for name in ("id", "recipe"):
        with pytest.raises(hapax.errors.ArrowError, match="contradicts itself"):
            hapax.pairs(signatures.set_column(signatures.column_names.index(name), name, column))
    names = pa.array(["x"] * len(column))
    for a, b in ((column, names), (names, column)):
        with pytest.raises(hapax.errors.ArrowError, match="contradicts itself"):
            hapax.groups(pa.table({"a": a, "b": b, "distance": pa.array([1] * len(column), pa.uint8())}))


def test_a_parquet_file_whose_text_is_no_utf8_is_refused(by: hapax.Fingerprinter, tmp_path: pathlib.Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": column_of(pa.string(), [0, 4, 6], b"fine\xff\xfe")}), tmp_path / "bad.parquet")
    with pytest.raises(hapax.errors.ArrowError, match="UTF8|UTF-8"):
        by.fingerprints(pq.read_table(tmp_path / "bad.parquet"))


def test_an_arrow_file_whose_offsets_lead_out_of_it_is_refused(by: hapax.Fingerprinter) -> None:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"text": pa.array(["four", "six"])})
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    sound, beyond = struct.pack("<iii", 0, 4, 7), struct.pack("<iii", 0, 4, 1 << 24)
    data = sink.getvalue().to_pybytes()
    assert data.count(sound) == 1
    with pytest.raises(hapax.errors.ArrowError, match="contradicts itself"):
        by.fingerprints(pa.ipc.open_stream(data.replace(sound, beyond)).read_all())


def test_without_pyarrow_lists_work_and_arrow_says_what_it_needs(tmp_path: pathlib.Path) -> None:
    script = (
        "import sys; sys.modules['pyarrow'] = None; sys.modules['numpy'] = None; sys.modules['tqdm'] = None\n"
        "import hapax\n"
        "by = hapax.Fingerprinter()\n"
        "assert by.fingerprints(['tea'])[0] == by.text('tea').fingerprint\n"
        "assert hapax.pairs([1, 3], within=1) == [(0, 1, 1)]\n"
        "assert hapax.Index.build([1, 2]).find_many([1])[0]\n"
        "assert hapax.dedup(['tea', 'tea']).kept == ['tea']\n"
        "try:\n    hapax.dedup(files=__file__, input_format='lines').removed\n"
        "except ImportError as error:\n    print(error)\n"
    )
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True)
    assert "pip install 'hapax[arrow]'" in done.stdout, done.stderr


def test_a_story_is_as_long_as_it_says(by: hapax.Fingerprinter) -> None:
    assert by.text(story(1, 77)).words == 77
