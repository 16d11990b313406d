"""Pairs, groups and the whole job: tables in, tables out."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import hapax
from conftest import program, story

NEAR = [("a", story(1)), ("b", story(1) + " end"), ("c", story(2)), ("d", story(1)), ("e", story(3)), ("f", "")]


def corpus() -> pa.Table:
    ids, texts = zip(*NEAR)
    return pa.table({"id": ids, "text": texts, "extra": range(len(ids))})


def test_pairs_of_signatures_are_confirmed_by_sketches(by: hapax.Fingerprinter) -> None:
    signatures = by.signatures(corpus(), id="id")
    found = hapax.pairs(signatures).to_pylist()
    assert [(p["a"], p["b"], p["exact"]) for p in found] == [("a", "b", False), ("a", "d", True)]
    assert found[0]["similarity"] > 0.9
    for other in (pl.from_arrow(signatures), signatures.to_pandas()):
        assert hapax.pairs(other).to_pylist() == found
    assert hapax.pairs(signatures, min_similarity=1.0).to_pylist() == found[1:]
    with pytest.raises(hapax.errors.ArgumentError, match="no column 'sketch'"):
        hapax.pairs(signatures.drop_columns("sketch"))
    mixed = pa.concat_tables([signatures, hapax.Fingerprinter("khan-words").signatures(corpus(), id="id")])
    with pytest.raises(hapax.errors.RecipeMismatchError):
        hapax.pairs(mixed)


def test_verify_says_what_the_program_says(tmp_path: pathlib.Path) -> None:
    # About 0.84 alike, where estimates are right half of the time: what is checked exactly is what may go.
    rows = []
    for n in range(40):
        text = [f"w{n}x{i}" for i in range(200)]
        changed = [f"other{n}" if i in (20, 60, 100) else word for i, word in enumerate(text)]
        rows += [{"url": f"https://{who}{n}.test/", "text": " ".join(words)} for who, words in (("a", text), ("b", changed))]
    source = tmp_path / "pages.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    estimated, exact = hapax.dedup(source), hapax.dedup(source, verify=True)
    assert [one.summary["settings"]["confirm"] for one in (estimated, exact)] == ["keyed", "exact"]
    done = ["dedup", str(source), "--verify", "--quiet", "--out", str(tmp_path / "out")]
    subprocess.run([*program(), *done], check=True)
    assert parquet.read_table(tmp_path / "out" / "groups.parquet").equals(exact.groups)


def test_a_run_with_the_key_of_another_writes_its_bytes(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "pages.jsonl"
    texts = [" ".join(f"w{n}x{i}" for i in range(60)) for n in range(9)]
    source.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)), encoding="utf-8")
    folders = [tmp_path / name for name in ("one", "other", "same")]
    for folder, key in zip(folders, (None, None, folders[0])):
        hapax.dedup(source, folder, key=key)
    one, other, same = ((folder / "kept.signatures").read_bytes() for folder in folders)
    assert one == same != other
    with pytest.raises(FileNotFoundError):
        hapax.dedup(source, tmp_path / "none", key=tmp_path / "missing")


def test_pairs_of_bare_fingerprints_in_every_form() -> None:
    bits = [0xFF00, 0xFF01, 0x1234, 0xFF00]
    expected = [(0, 1, 1), (0, 3, 0), (1, 3, 1)]
    assert hapax.pairs(bits, within=3, threads=2) == expected
    for form in (np.array(bits, np.uint64), pa.array(bits, pa.uint64()), pl.Series(bits, dtype=pl.UInt64)):
        table = hapax.pairs(form, within=3)
        assert list(zip(*(table.column(name).to_pylist() for name in ("a", "b", "distance")))) == expected
    with pytest.raises(hapax.errors.ArgumentError, match="exact from 0 to 16"):
        hapax.pairs(bits, within=17)


def test_groups_choose_by_rules(by: hapax.Fingerprinter) -> None:
    pairs = hapax.pairs(by.signatures(corpus(), id="id"))
    rows = hapax.groups(pairs).to_pylist()
    assert [(r["document"], r["winner"], r["outcome"]) for r in rows] == [
        ("a", "a", "kept"),
        ("b", "a", "near"),
        ("d", "a", "exact"),
    ]
    assert rows[0]["reason"] is None and rows[1]["reason"]
    assert hapax.groups([]).num_rows == 0
    with pytest.raises(hapax.errors.ArgumentError, match="prettiest"):
        hapax.groups(pairs, keep="prettiest")
    with pytest.raises(hapax.errors.CorpusError, match="similarity 7"):
        hapax.groups(pa.table({"a": ["x"], "b": ["y"], "distance": [1], "similarity": [7.0]}))


def test_files_are_cleaned_into_what_the_program_writes(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_text("".join(json.dumps({"id": id, "body": text}) + "\n" for id, text in NEAR))
    found = hapax.dedup(source, tmp_path / "clean", text_field="body", keep="longest", threads=2, format="parquet")
    made = sorted(file.name for file in (tmp_path / "clean").iterdir())
    assert made == sorted(pathlib.Path(file).name for file in found.files)
    assert "report.html" in made and parquet.read_table(tmp_path / "clean" / "kept.parquet").num_rows == 4
    assert found.kept is None and found.summary["settings"]["keep"] == "longest"
    assert found.groups.equals(parquet.read_table(tmp_path / "clean" / "groups.parquet"))
    with pytest.raises(hapax.errors.OutputExistsError) as full:
        hapax.dedup(source, tmp_path / "clean", text_field="body")
    assert isinstance(full.value, FileExistsError) and full.value.path == str(tmp_path / "clean")
    again = hapax.dedup([source], against=[tmp_path / "clean"], text_field="body")
    assert (again.summary["known"], again.summary["kept"]) == (5, 1)
    with pytest.raises(FileNotFoundError):
        hapax.dedup(tmp_path / "nothing.jsonl")
    with pytest.raises(hapax.errors.CorpusError) as wrong:
        hapax.dedup(source, text_field="story")
    assert wrong.value.path == str(source) and "story" in wrong.value.reason
    source.write_text("{broken\n")
    with pytest.raises(hapax.errors.CorpusError, match="line 1"):
        hapax.dedup(source)
    source.write_text("".join(json.dumps({"id": "a", "text": text}) + "\n" for text in ("some words", "other words")))
    with pytest.raises(hapax.errors.DuplicateIdError):
        hapax.dedup(source)
    source.write_text("\n")
    with pytest.raises(hapax.errors.NoDocumentsError):
        hapax.dedup(source)
    with pytest.raises(hapax.errors.ArgumentError, match="csv"):
        hapax.dedup(["some words"], format="csv")
    with pytest.raises(hapax.errors.ArgumentError, match="min_similarity"):
        hapax.dedup(["some words"], min_similarity=80)
    with pytest.raises(hapax.errors.ArgumentError, match="not both"):
        hapax.dedup(["some words"], files=source)


def test_progress_is_told_to_tqdm(capsys) -> None:
    hapax.dedup(corpus(), progress=True)
    shown = capsys.readouterr().err
    assert "reading" in shown and "6 documents" in shown.replace(" documents", " documents")
    hapax.dedup(corpus(), progress=False)
    assert capsys.readouterr().err == ""


#: The last two would go on for hours, and for ever.
WORK = [
    "hapax.dedup(files=[file] * 100, progress=False)",
    "by.fingerprints(texts, threads=2)",
    "hapax.pairs([n * 0x9E3779B97F4A7C15 % 2**64 for n in range(1_000_000)], within=16)",
    "hapax.Client(f'http://127.0.0.1:{port}', timeout=10**6).stats()",
]


@pytest.mark.parametrize("work", WORK)
def test_ctrl_c_ends_the_work(work: str, tmp_path: pathlib.Path) -> None:
    script = textwrap.dedent(
        f"""
        import hapax, os, signal, socket, threading
        by = hapax.Fingerprinter()
        texts = [" ".join(str(i * j) for i in range(400)) for j in range(20)] * 10_000
        file = {str(tmp_path / "texts.txt")!r}
        with open(file, "w") as lines:
            lines.writelines(text + "\\n" for text in texts[:2000])
        silent = socket.create_server(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        try:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            {work}
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.stdout == "interrupted\n", done.stderr
