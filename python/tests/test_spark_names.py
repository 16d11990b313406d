"""Names of files that collisions chose, on their way through Spark and pyarrow. No Spark is started."""

from __future__ import annotations

import pathlib

import pyarrow as pa
import pytest
from pyarrow import fs

from hapax.errors import ArrowError
from hapax.spark import __main__ as program
from hapax.spark.steps import Fetched, each, literal, store_of, together

HOSTILE = [
    "a.warc.gz?endpoint_override=evil.test&scheme=http",
    "%2e%2e%2fsecret.jsonl",
    "a b.jsonl",
    "a#b.jsonl",
    "100%.jsonl",
    "größe+[1].jsonl",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_from_a_listing_is_only_a_name(name: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text("this one")
    (tmp_path / "secret.jsonl").write_text("another one")
    uri = f"file://{tmp_path}/in/{name}"
    store, path = store_of(uri)
    assert isinstance(store, fs.LocalFileSystem) and path == f"{tmp_path}/in/{name}"
    with Fetched(uri) as fetched:
        assert pathlib.Path(fetched).read_text() == "this one"


def test_options_in_a_name_do_not_reach_the_store() -> None:
    for scheme in ("s3", "s3a", "s3n"):
        found = literal(f"{scheme}://bucket/crawl/a.warc.gz?endpoint_override=evil.test&scheme=http")
        assert found == "s3://bucket/crawl/a.warc.gz%3Fendpoint_override%3Devil.test%26scheme%3Dhttp"
    assert literal("gs://bucket/in/%2e%2e%2fsecret") == "gs://bucket/in/%252e%252e%252fsecret"
    assert literal("hdfs://host:8020/user/a b") == "hdfs://host:8020/user/a%20b"
    assert literal("s3a://bucket") == "s3://bucket"


def test_an_error_cannot_steer_the_terminal_it_is_shown_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ArrowError("größe \x1b]0;owned\x07\nerror: forged \x9b2J\u202e", "in/a.jsonl")

    monkeypatch.setattr(program, "dedup", fails)
    assert program.main(["in", "--out", "out"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("error: in/a.jsonl: größe ") and shown.count("\n") == 1
    assert not any(sign in shown for sign in "\x1b\x07\x9b\u202e")


def test_rows_that_contradict_themselves_do_not_reach_the_engine() -> None:
    from hapax.spark.batch import make_spec

    offsets = pa.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00")
    column = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    batch = pa.RecordBatch.from_arrays([column], ["document"])
    with pytest.raises(ArrowError, match="contradicts itself"):
        together(iter([batch]))
    with pytest.raises(ArrowError, match="contradicts itself"):
        list(each(make_spec("web-2", None, False, {}), "common_folder")(iter([batch])))


def test_what_an_executor_met_is_said_without_the_words_of_java() -> None:
    from hapax import errors
    from hapax.spark.snapshot import plain, plain_errors

    class PythonException(Exception):
        __module__ = "pyspark.errors.exceptions.captured"

    def thrown(line: str) -> PythonException:
        return PythonException(f"Job aborted due to stage failure\nTraceback (most recent call last):\n  File x\n{line}\n\n\tat org.apache.spark.X.run(X.scala:1)\n\tat Y")

    bad = plain(thrown("hapax.errors.CorpusError: in/a.jsonl, line 7: no JSON"))
    assert type(bad) is errors.CorpusError and str(bad) == "in/a.jsonl, line 7: no JSON"
    gone = plain(thrown("FileNotFoundError: [Errno 2] No such file or directory: 'in/a.jsonl'"))
    assert type(gone) is FileNotFoundError and gone.filename == "in/a.jsonl"
    other = plain(thrown("ValueError: what nobody thought of"))
    assert type(other) is errors.JobError and str(other) == "Spark could not do the job: ValueError: what nobody thought of"
    refused = plain(PythonException("[UNSUPPORTED] cannot sort a MAP;\n'Sort [x]\n\tat org.apache.Z"))
    assert str(refused) == "Spark could not do the job: [UNSUPPORTED] cannot sort a MAP;"
    java = PythonException('An error occurred while calling o12.getFileSystem.\n: org.apache.hadoop.fs.X: No FileSystem for scheme "nope"\n\tat org.apache.Z')
    assert str(plain(java)) == 'Spark could not do the job: No FileSystem for scheme "nope"'
    ours = KeyError("x")
    assert plain(ours) is ours
    with pytest.raises(errors.JobError) as raised, plain_errors():
        raise thrown("ValueError: x")
    assert raised.value.__suppress_context__


def test_executors_of_one_machine_run_the_python_that_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    import sys
    from types import SimpleNamespace

    from hapax.spark.batch import session

    def python_of(master: str, configured: bool = False) -> str:
        context = SimpleNamespace(master=master, pythonExec="python3", getConf=lambda: SimpleNamespace(contains=lambda name: configured))
        return session(SimpleNamespace(sparkContext=context)).sparkContext.pythonExec

    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert python_of("local[2]") == sys.executable
    assert python_of("spark://host:7077") == python_of("local[2]", configured=True) == "python3"
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    assert python_of("local[2]") == "python3"
