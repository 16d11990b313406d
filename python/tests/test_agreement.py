"""The program, the package and the service say the same of the example corpus."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import subprocess

import pyarrow as pa
import pytest

import hapax
from conftest import EXAMPLES, Service, program


def run(*words: object) -> str:
    done = subprocess.run([*program(), *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def lines(tmp_path_factory) -> pathlib.Path:
    """What `hapax fingerprint --json` says of every page."""
    file = tmp_path_factory.mktemp("agreement") / "signatures.jsonl"
    run("fingerprint", EXAMPLES, "--json", "--out", file, "--quiet")
    return file


@pytest.fixture(scope="module")
def printed(lines: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in lines.read_text().splitlines()]


@pytest.fixture(scope="module")
def table(printed: list[dict], by: hapax.Fingerprinter) -> pa.Table:
    """The package's signatures of the same pages, in the same order."""
    pages = [pathlib.Path(one["id"]).read_bytes() for one in printed]
    source = pa.table({"id": [one["id"] for one in printed], "page": pa.array(pages, pa.binary())})
    return by.signatures(source, kind="html", column="page", id="id", threads=2)


def test_fingerprints_are_the_same(printed, table, by, service: Service) -> None:
    assert len(printed) > 100
    ours = table.to_pylist()
    for told, row in zip(printed, ours):
        assert told["fingerprint"] == f"{row['fingerprint']:016x}" and told["recipe"] == row["recipe"]
        assert (told["sketch"], told["content"]) == (row["sketch"].hex(), row["content"].hex())
        assert (told["words"], told["weak_bits"]) == (row["words"], list(row["weak_bits"]))
    client = hapax.Client(service.url)
    pages = [pathlib.Path(one["id"]).read_bytes() for one in printed]
    seen = [hapax.page(one["id"], page, content_type="text/html") for one, page in zip(printed, pages)]
    client.observe_many(seen)
    for told in printed:
        assert client.page(told["id"]).fingerprint == told["fingerprint"], told["id"]


def test_pairs_and_groups_are_the_same(lines, table, tmp_path) -> None:
    told = [json.loads(line) for line in run("pairs", lines, "--json", "--quiet").splitlines()]
    ours = hapax.pairs(table)
    assert len(told) > 20
    rows = [{k: v for k, v in row.items() if k != "exact" or v} for row in ours.to_pylist()]
    for one in told + rows:
        one["similarity"] = pytest.approx(one["similarity"], abs=1e-6) if one in told else one["similarity"]
    assert rows == told
    assert hapax.pairs(lines).equals(ours)
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(strip(row)) + "\n" for row in ours.to_pylist()))
    groups = [json.loads(line) for line in run("groups", tmp_path / "pairs.jsonl", "--json", "--quiet").splitlines()]
    found = hapax.groups(ours).to_pylist()
    assert [(g["group"], g["document"], g["winner"], g["outcome"], g["distance"], g.get("reason")) for g in groups] == [
        (g["group"], g["document"], g["winner"], g["outcome"], g["distance"], g["reason"]) for g in found
    ]


def strip(row: dict) -> dict:
    return {key: value for key, value in row.items() if key != "exact" or value}


def test_a_cleaned_corpus_is_the_same_byte_for_byte(tmp_path) -> None:
    hapax.dedup(EXAMPLES, tmp_path / "package", threads=3)
    run("dedup", EXAMPLES, "--out", tmp_path / "program", "--key", tmp_path / "package", "--quiet")
    names = sorted(file.name for file in (tmp_path / "program").iterdir())
    assert names == sorted(file.name for file in (tmp_path / "package").iterdir())
    for name in names:
        if name != "run.json":
            ours, theirs = (comparable(tmp_path / who / name) for who in ("package", "program"))
            assert ours == theirs, name


def comparable(file: pathlib.Path) -> bytes:
    """A result without what differs from run to run: when and by which command a report was made."""
    content = file.read_bytes()
    if file.name == "report.html":
        content = re.sub(rb"<dt>(?:made|command)</dt><dd>.*?</dd>", b"", content)
        nonce = re.search(rb"nonce-([^']+)'", content)
        assert nonce is not None
        content = content.replace(nonce[1], b"")
    return content


def test_live_groups_are_the_same_here_behind_http_and_in_the_shell(printed, tmp_path, service: Service) -> None:
    client = hapax.Client(service.url)
    run("page", "add", tmp_path / "shell", "--from", EXAMPLES, "--create", "--quiet")
    with hapax.Repository(tmp_path / "seen") as repository:
        seen = [
            hapax.page(one["id"], pathlib.Path(one["id"]).read_bytes(), content_type="text/html", fetched="2026-03-01")
            for one in printed
        ]
        here, there = repository.observe_many(seen), client.observe_many(seen)
        assert here == there
        assert repository.groups(1000) == client.groups(1000)
        changes = [
            [dataclasses.replace(event, at=None) for event in pages.events(limit=10_000)] for pages in (repository, client)
        ]
        assert changes[0] == changes[1]
        for one in printed[::7]:
            assert repository.group(one["id"]) == client.group(one["id"])
            assert repository.page(one["id"]) == client.page(one["id"])
    with hapax.Repository(tmp_path / "shell", mode="open") as shell:
        # The same pages, told in the same order.
        assert {g.winner: g.members for g in shell.groups(1000)} == {g.winner: g.members for g in client.groups(1000)}
