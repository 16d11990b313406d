"""Corpora in an object store: a real S3 server on loopback, whole and with faults on the way to it.

The server is moto's. Requests go through a proxy that cuts connections, stalls, fails, and changes objects between two requests.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.client
import http.server
import json
import os
import pathlib
import pty
import random
import socket
import subprocess
import threading
import time
from typing import Any, Callable, Iterator, Optional

import pyarrow.parquet
import pytest

import hapax

from conftest import EXAMPLES, Server, program, story

moto_server = pytest.importorskip("moto.server")
boto3 = pytest.importorskip("boto3")

SECRET = "a-secret-that-nobody-may-see"
BUCKET = "corpora"


class Proxy(Server):
    """Hands requests on to a server, unless ``fault`` has something else in mind."""

    def __init__(self, server: str) -> None:
        super().__init__(Handler)
        self.server = server
        self.seen: list[tuple[str, str]] = []
        #: What becomes of an answer: a status instead, or the bytes of its body after which the connection ends, or after
        #: which nothing is sent for some seconds.
        self.fault: Callable[[str, str], Optional[tuple[str, int]]] = lambda method, target: None
        self.lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:
            self.server.seen.append((self.command, self.path))
            fault = self.server.fault(self.command, self.path)
        if fault and fault[0] == "status":
            self.send_response(fault[1])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        upstream = http.client.HTTPConnection(self.server.server)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        upstream.request(self.command, self.path, body, headers)
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "server", "date"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        if fault and fault[0] == "cut":
            self.wfile.write(content[: fault[1]])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        if fault and fault[0] == "stall":
            self.wfile.write(content[: fault[1]])
            self.wfile.flush()
            time.sleep(3)
            self.close_connection = True
            return
        self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def log_message(self, *_: Any) -> None:
        pass


class Store:
    """A bucket behind a proxy."""

    def __init__(self, proxy: Proxy, client: Any) -> None:
        self.proxy, self.client = proxy, client
        self.environment = {
            "AWS_ENDPOINT_URL": proxy.url,
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "NO_PROXY": "127.0.0.1",
        }

    def put(self, key: str, body: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=body)

    def folder(self, prefix: str, local: pathlib.Path) -> None:
        for path in sorted(local.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(local).as_posix()}", path.read_bytes())

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [found["Key"] for page in pages for found in page.get("Contents", [])]

    def uploads(self) -> list[str]:
        """Uploads in parts that were neither finished nor aborted."""
        found = self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
        return [upload["Key"] for upload in found]

    def start(self, *arguments: object, environment: Optional[dict[str, str]] = None) -> "subprocess.Popen[str]":
        clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return subprocess.Popen(
            [*program(), *map(str, arguments)],
            env={**clean, **self.environment, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: object, fails: bool = False, environment: Optional[dict[str, str]] = None) -> str:
        """What the program prints. A secret that it lets out fails the test."""
        running = self.start(*arguments, environment=environment)
        said, _ = running.communicate(timeout=300)
        assert SECRET not in said
        assert (running.returncode != 0) == fails, said
        return said


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"{host}:{port}"
    running.stop()


@pytest.fixture
def store(server: str) -> Iterator[Store]:
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{server}",
        region_name="us-east-1",
        aws_access_key_id="somebody",
        aws_secret_access_key=SECRET,
    )
    client.create_bucket(Bucket=BUCKET)
    with Proxy(server) as proxy:
        yield Store(proxy, client)
    with contextlib.closing(http.client.HTTPConnection(server)) as asked:
        asked.request("POST", "/moto-api/reset")
        asked.getresponse().read()


VOCABULARY = story(0, 5000).split()


def pages(count: int, words: int = 300) -> list[dict[str, str]]:
    """Every third is nearly the one before."""
    rows = []
    for at in range(count):
        same = at % 3 == 2
        text = " ".join(random.Random(at - same).choices(VOCABULARY, k=words)) + (" and a little more" if same else "")
        rows.append({"id": f"page-{at}", "url": f"https://example.org/{at}", "text": text})
    return rows


def jsonl(rows: list[dict[str, str]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@functools.lru_cache
def large() -> bytes:
    """What takes several ranges and parts."""
    return jsonl(pages(1500, 1500))


def warc(rows: list[dict[str, str]]) -> bytes:
    members = []
    for row in rows:
        http_part = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body>{row['text']}</body></html>".encode()
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {row['url']}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
            f"WARC-Record-ID: <urn:uuid:{row['id']}>\r\nContent-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(http_part)}\r\n\r\n"
        ).encode()
        members.append(gzip.compress(head + http_part + b"\r\n\r\n", mtime=0))
    return b"".join(members)


def parquet(rows: list[dict[str, str]], path: pathlib.Path) -> bytes:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=50)
    return path.read_bytes()


def same(local: pathlib.Path, remote: pathlib.Path, kept: str, where: tuple[str, str]) -> None:
    """The same bytes of what is kept, and the same rows of the tables but for the names of files."""
    assert (local / kept).read_bytes() == (remote / kept).read_bytes()
    assert (local / "kept.signatures").read_bytes() == (remote / "kept.signatures").read_bytes()
    for table in ("groups.parquet", "removed.parquet"):
        here, there = (pyarrow.parquet.read_table(folder / table).to_pylist() for folder in (local, remote))
        for row in here:
            row["file"] = row["file"].replace(*where)
        assert here == there


@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "warc.gz", "parquet"])
def test_a_corpus_gives_the_same_bytes_from_a_store_and_from_files(kind: str, store: Store, tmp_path: pathlib.Path) -> None:
    local = tmp_path / "in"
    local.mkdir()
    rows = pages(240)
    for at in range(2):
        some = rows[at * 120 : (at + 1) * 120]
        if kind == "parquet":
            made = parquet(some, tmp_path / "table")
        elif kind == "warc.gz":
            made = warc(some)
        else:
            made = gzip.compress(jsonl(some)) if kind.endswith("gz") else jsonl(some)
        (local / f"part-{at}.{kind}").write_bytes(made)
    store.folder("in", local)
    address = f"s3://{BUCKET}/in"
    store.run("dedup", local, "--out", tmp_path / "local", "--quiet")
    store.run("dedup", address, "--out", tmp_path / "remote", "--key", tmp_path / "local", "--quiet")
    kept = next((tmp_path / "local").glob("kept.[jwp]*")).name
    same(tmp_path / "local", tmp_path / "remote", kept, (str(local), address))
    ours, theirs = (json.loads((tmp_path / out / "summary.json").read_text()) for out in ("local", "remote"))
    assert theirs["settings"].pop("inputs") == [address] and ours["settings"].pop("inputs") == [str(local)]
    assert ours == theirs and ours["near"] > 60
    # A pattern and lists stand for the same files.
    names = "".join(f"{address}/part-{at}.{kind}\n" for at in range(2))
    (tmp_path / "list.txt").write_text(names)
    store.put("list.txt", names.encode())
    for at, named in enumerate([f"{address}/part-?.{kind}", f"@{tmp_path / 'list.txt'}", f"@s3://{BUCKET}/list.txt"]):
        again = tmp_path / f"again-{at}"
        store.run("dedup", named, "--out", again, "--key", tmp_path / "remote", "--quiet")
        same(tmp_path / "remote", again, kept, ("", ""))


def test_a_folder_of_pages_is_read_by_the_rules_of_local_folders(store: Store, tmp_path: pathlib.Path) -> None:
    store.folder("docs", EXAMPLES)
    store.put("docs/.hidden/page.html", b"<p>hidden</p>")
    store.put("docs/notes.bin", b"\x00\x01")
    store.put("docs/", b"")
    said = store.run("dedup", f"s3://{BUCKET}/docs/", "--out", tmp_path / "out")
    store.run("dedup", EXAMPLES, "--out", tmp_path / "local", "--quiet")
    assert "1 other file in folders ignored" in said
    ids = [[row["document"] for row in pyarrow.parquet.read_table(tmp_path / out / "groups.parquet").to_pylist()] for out in ("out", "local")]
    assert ids[0] == [name.replace(str(EXAMPLES), f"s3://{BUCKET}/docs") for name in ids[1]]


def test_faults_on_the_way_change_nothing(store: Store, tmp_path: pathlib.Path) -> None:
    body = large()
    assert len(body) > 16 << 20
    store.put("in.jsonl", body)
    address = f"s3://{BUCKET}/in.jsonl"
    store.run("dedup", address, "--out", tmp_path / "whole", "--quiet")
    count = 0

    def fault(method: str, target: str) -> Optional[tuple[str, int]]:
        nonlocal count
        count += 1
        return {1: ("status", 503), 3: ("cut", 1000), 5: ("status", 500), 7: ("cut", 300_000), 8: ("cut", 0)}.get(count)

    store.proxy.fault = fault
    store.run("dedup", address, "--out", tmp_path / "broken", "--key", tmp_path / "whole", "--quiet")
    assert count > 8
    same(tmp_path / "whole", tmp_path / "broken", "kept.jsonl", ("", ""))


def test_an_answer_that_stops_is_asked_for_again(store: Store, tmp_path: pathlib.Path) -> None:
    store.put("in.jsonl", jsonl(pages(30)))
    command = ["dedup", f"s3://{BUCKET}/in.jsonl", "--dry-run"]
    gets = 0

    def fault(method: str, target: str) -> Optional[tuple[str, int]]:
        nonlocal gets
        gets += method == "GET"
        return ("stall", 1000) if gets == 1 and method == "GET" else None

    store.proxy.fault = fault
    began = time.monotonic()
    assert "30 documents" in store.run(*command, environment={"HAPAX_REMOTE_TIMEOUT": "1"})
    assert gets > 1 and time.monotonic() - began < 30
    assert "expected whole seconds" in store.run(*command, environment={"HAPAX_REMOTE_TIMEOUT": "soon"}, fails=True)


def test_progress_is_in_bytes_and_files(store: Store, tmp_path: pathlib.Path) -> None:
    for at in range(3):
        store.put(f"in/part-{at}.jsonl", jsonl(pages(300)[at * 100 : at * 100 + 100]))
    terminal, end = pty.openpty()
    command = [*program(), "dedup", f"s3://{BUCKET}/in/", "--out", str(tmp_path / "out")]
    running = subprocess.Popen(command, env={**os.environ, **store.environment, "TERM": "xterm"}, stdin=end, stderr=end)
    os.close(end)
    shown = b""
    # A terminal whose other end is closed fails.
    with contextlib.suppress(OSError):
        while more := os.read(terminal, 4096):
            shown += more
    os.close(terminal)
    assert running.wait(60) == 0
    assert b" of 3 files" in shown and b" kB of " in shown, shown


def test_a_run_whose_credentials_expired_continues(store: Store, tmp_path: pathlib.Path) -> None:
    for at in range(2):
        store.put(f"in/part-{at}.jsonl", jsonl(pages(90)[at * 45 : at * 45 + 45]))
    command = ["dedup", f"s3://{BUCKET}/in/", "--out", tmp_path / "out"]
    gets = 0

    def fault(method: str, target: str) -> Optional[tuple[str, int]]:
        nonlocal gets
        gets += method == "GET" and "part-1" in target
        return ("status", 403) if gets > 0 and "part-1" in target else None

    store.proxy.fault = fault
    assert "denies access" in store.run(*command, fails=True)
    store.proxy.fault = lambda method, target: None
    assert "continuing an interrupted run: 45 documents" in store.run(*command)


def test_an_object_that_changes_is_an_error_and_not_a_mixture(store: Store, tmp_path: pathlib.Path) -> None:
    store.put("in.jsonl", jsonl(pages(30)))
    gets = 0

    def fault(method: str, target: str) -> None:
        nonlocal gets
        gets += method == "GET" and "in.jsonl" in target
        if gets == 2:
            store.put("in.jsonl", jsonl(pages(31)))

    store.proxy.fault = fault
    said = store.run("dedup", f"s3://{BUCKET}/in.jsonl", "--out", tmp_path / "out", fails=True)
    assert "changed since it was found" in said
    assert not (tmp_path / "out" / "summary.json").exists()


def test_a_listing_of_thousands_is_read_to_its_end(store: Store, tmp_path: pathlib.Path) -> None:
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    # Over HTTP this would take a minute.
    backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    for at in range(5000):
        backend.put_object(BUCKET, f"many/{at % 7}/{at}.bin", b"x")
    backend.put_object(BUCKET, "many/6/page.jsonl", jsonl(pages(3)))
    said = store.run("dedup", f"s3://{BUCKET}/many/**/*.jsonl", "--out", tmp_path / "out")
    assert "3 documents" in said
    assert sum("list-type=2" in target for _, target in store.proxy.seen) >= 5


def test_what_cannot_be_read_is_named_without_credentials(store: Store, tmp_path: pathlib.Path) -> None:
    out = ["--out", tmp_path / "out"]
    assert "no such object" in store.run("dedup", f"s3://{BUCKET}/nothing", *out, fails=True)
    assert "matches no object" in store.run("dedup", f"s3://{BUCKET}/nothing/*.gz", *out, fails=True)
    store.proxy.fault = lambda method, target: ("status", 403)
    assert "AWS_SKIP_SIGNATURE" in store.run("dedup", f"s3://{BUCKET}/in.jsonl", *out, fails=True)
    signed = f"{store.proxy.url}/in.jsonl?X-Amz-Signature={SECRET}"
    assert "denies access" in store.run("dedup", signed, *out, fails=True)


def test_keys_come_from_a_profile_too(store: Store, tmp_path: pathlib.Path) -> None:
    store.put("in.jsonl", jsonl(pages(6)))
    (tmp_path / "credentials").write_text(f"[other]\naws_access_key_id = me\naws_secret_access_key = {SECRET}\n")
    del store.environment["AWS_ACCESS_KEY_ID"], store.environment["AWS_SECRET_ACCESS_KEY"]
    store.environment["AWS_SHARED_CREDENTIALS_FILE"] = str(tmp_path / "credentials")
    command = ["dedup", f"s3://{BUCKET}/in.jsonl", "--dry-run"]
    store.run(*command, environment={"AWS_PROFILE": "other"})
    said = store.run(*command, environment={"AWS_PROFILE": "third"}, fails=True)
    assert "the profile third" in said
    store.environment["AWS_SHARED_CREDENTIALS_FILE"] = str(tmp_path / "nothing")
    assert "there are no credentials" in store.run(*command, environment={"AWS_EC2_METADATA_DISABLED": "true"}, fails=True)
    store.client.put_object_acl(Bucket=BUCKET, Key="in.jsonl", ACL="public-read")
    store.run(*command, environment={"AWS_SKIP_SIGNATURE": "true"})


def fetched(store: Store, prefix: str, to: pathlib.Path) -> pathlib.Path:
    to.mkdir()
    for key in store.keys(prefix + "/"):
        store.client.download_file(BUCKET, key, str(to / key.removeprefix(prefix + "/")))
    return to


def test_results_go_to_a_store_whole_and_the_summary_last(store: Store, tmp_path: pathlib.Path) -> None:
    corpus = tmp_path / "in.jsonl"
    corpus.write_bytes(large())
    work = tmp_path / "work"
    clean = f"s3://{BUCKET}/clean"
    store.run("dedup", corpus, "--out", tmp_path / "local", "--quiet")
    said = store.run("dedup", corpus, "--out", clean, "--work", work, "--key", tmp_path / "local")
    assert f"{clean}/summary.json" in said
    remote = fetched(store, "clean", tmp_path / "remote")
    assert sorted(path.name for path in remote.iterdir()) == sorted(path.name for path in (tmp_path / "local").iterdir())
    same(tmp_path / "local", remote, "kept.jsonl", ("", ""))
    assert (remote / "kept.jsonl").stat().st_size > 8 << 20
    sent = [target.split("?")[0] for method, target in store.proxy.seen if method in ("PUT", "POST")]
    assert sent[-1].endswith("/clean/summary.json")
    assert not store.uploads() and not list(work.iterdir())
    # What is finished is not written over, and serves the next job.
    assert "is not empty (it holds summary.json)" in store.run("dedup", corpus, "--out", clean, "--work", work, fails=True)
    said = store.run("dedup", corpus, "--against", clean, "--out", f"s3://{BUCKET}/next", "--shard-size", "4MB", "--work", work)
    assert "0 kept" in said
    store.run("dedup", corpus, "--out", f"s3://{BUCKET}/shards/", "--shard-size", "4MB", "--work", work)
    shards = fetched(store, "shards", tmp_path / "shards")
    whole = b"".join(path.read_bytes() for path in sorted(shards.glob("kept-*.jsonl")))
    assert len(list(shards.glob("kept-*.jsonl"))) > 2 and whole == (remote / "kept.jsonl").read_bytes()
    assert "cannot be written to" in store.run("dedup", corpus, "--out", f"{store.proxy.url}/x", fails=True)


def test_a_failed_upload_leaves_nothing_and_the_next_run_continues(store: Store, tmp_path: pathlib.Path) -> None:
    corpus = tmp_path / "in.jsonl"
    corpus.write_bytes(large())
    command = ["dedup", corpus, "--out", f"s3://{BUCKET}/clean", "--work", tmp_path / "work"]
    store.proxy.fault = lambda method, target: ("status", 403) if method == "PUT" and "groups" in target else None
    assert "denies access" in store.run(*command, fails=True)
    assert not store.keys() and not store.uploads()
    store.proxy.fault = lambda method, target: ("status", 403) if "partNumber=2" in target else None
    store.run(*command, fails=True)
    assert not store.keys() and not store.uploads()
    store.proxy.fault = lambda method, target: None
    assert "continuing an interrupted run: 1,500 documents" in store.run(*command)
    store.run("dedup", corpus, "--out", tmp_path / "local", "--key", f"s3://{BUCKET}/clean", "--quiet")
    same(tmp_path / "local", fetched(store, "clean", tmp_path / "remote"), "kept.jsonl", ("", ""))


@pytest.mark.parametrize("at", ["partNumber=2", "removed.parquet"])
def test_what_a_killed_run_left_is_cleared_by_the_next(at: str, store: Store, tmp_path: pathlib.Path) -> None:
    corpus = tmp_path / "in.jsonl"
    corpus.write_bytes(large())
    command = ["dedup", corpus, "--out", f"s3://{BUCKET}/clean", "--work", tmp_path / "work"]
    running: "Optional[subprocess.Popen[str]]" = None

    def fault(method: str, target: str) -> None:
        if at in target and running is not None:
            running.kill()

    store.proxy.fault = fault
    running = store.start(*command)
    running.communicate(timeout=300)
    assert running.returncode < 0
    assert "clean/summary.json" not in store.keys()
    store.proxy.fault = lambda method, target: None
    assert "continuing an interrupted run: 1,500 documents" in store.run(*command)
    assert not store.uploads()
    store.run("dedup", corpus, "--out", tmp_path / "local", "--key", f"s3://{BUCKET}/clean", "--quiet")
    same(tmp_path / "local", fetched(store, "clean", tmp_path / "remote"), "kept.jsonl", ("", ""))


def test_python_reads_and_writes_the_same_addresses(store: Store, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put("in.jsonl", jsonl(pages(30)))
    for name, value in {**store.environment, "XDG_CACHE_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    result = hapax.dedup(files=f"s3://{BUCKET}/in.jsonl", out=f"s3://{BUCKET}/clean", progress=False)
    assert result.summary["documents"] == 30 and result.summary["near"] > 5
    assert result.files[-1] == f"s3://{BUCKET}/clean/summary.json"
    assert result.removed.num_rows == result.summary["near"]


@pytest.mark.parametrize("ending", ["txt", "jsonl", "csv", "parquet", "hpx"])
def test_fingerprints_go_to_a_store_and_come_back(ending: str, store: Store, tmp_path: pathlib.Path) -> None:
    store.put("in.jsonl", jsonl(pages(60)))
    address, there = f"s3://{BUCKET}/in.jsonl", f"s3://{BUCKET}/made/prints.{ending}"
    here = tmp_path / f"prints.{ending}"
    for out in (here, there):
        store.run("fingerprint", address, "--out", out, "--quiet")
    for prints, pairs in ((here, tmp_path / "pairs.txt"), (there, f"s3://{BUCKET}/made/pairs.txt")):
        store.run("pairs", prints, "--out", pairs, "--quiet")
    made = store.client.get_object(Bucket=BUCKET, Key="made/pairs.txt")["Body"].read()
    assert made == (tmp_path / "pairs.txt").read_bytes() and made.count(b"\n") == 20
    assert "20 groups" in store.run("groups", f"s3://{BUCKET}/made/pairs.txt")
    # As a local file: not replaced unasked, and a folder is no file.
    assert "--force" in store.run("fingerprint", address, "--out", there, fails=True)
    store.run("fingerprint", address, "--out", there, "--force")
    assert "names a folder" in store.run("fingerprint", address, "--out", f"s3://{BUCKET}/made/", "--format", "csv", fails=True)
    if ending == "hpx":
        store.run("near", "build", f"s3://{BUCKET}/made/prints.hpx", "--out", f"s3://{BUCKET}/made/again.hpx")
        assert "60 with a match" in store.run("near", "find", here, "--index", f"s3://{BUCKET}/made/again.hpx")
        assert "extended in place" in store.run("near", "add", here, "--index", there, fails=True)


def test_shards_meet_in_a_store(store: Store, tmp_path: pathlib.Path) -> None:
    for at in range(4):
        store.put(f"in/part-{at}.jsonl", jsonl(pages(120)[at * 30 : at * 30 + 30]))
    corpus, bucket = f"s3://{BUCKET}/in/", f"s3://{BUCKET}"
    store.run("dedup", corpus, "--frames", "off", "--out", tmp_path / "whole", "--quiet")
    for at in range(2):
        said = store.run("dedup", corpus, "--frames", "off", "--signatures", f"{bucket}/signatures", "--shard", f"{at}/2")
        assert f"{bucket}/signatures/0000{at}-of-00002.signatures" in said
    decide = ["dedup", "--frames", "off", "--from-signatures", f"{bucket}/signatures", "--out", f"{bucket}/decided"]
    store.run(*decide, "--work", tmp_path / "work")
    kept = b""
    for at in range(2):
        out = f"clean-{at}"
        store.run("apply", f"{bucket}/decided", corpus, "--shard", f"{at}/2", "--out", f"{bucket}/{out}", environment={"XDG_CACHE_HOME": str(tmp_path)})
        kept += store.client.get_object(Bucket=BUCKET, Key=f"{out}/kept.jsonl")["Body"].read()
    assert kept == (tmp_path / "whole" / "kept.jsonl").read_bytes()
    assert "it has no file that ends in" in store.run("dedup", "--from-signatures", f"{bucket}/in", "--out", tmp_path / "none", fails=True)


def test_backups_of_a_repository_are_taken_and_restored(store: Store, tmp_path: pathlib.Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_bytes(jsonl(pages(60)))
    second.write_bytes(jsonl(pages(90)[60:]))
    place = f"s3://{BUCKET}/backups"
    assert f"there are no backups in {place}" in store.run("store", "list", place)
    seen = tmp_path / "seen"
    store.run("page", "add", seen, "--create", "--from", first, "--quiet")
    # What could not be sent is no backup.
    store.proxy.fault = lambda method, target: ("status", 403) if method in ("PUT", "POST") else None
    assert "denies access" in store.run("store", "backup", seen, "--to", place, fails=True)
    store.proxy.fault = lambda method, target: None
    assert not store.keys("backups/") and not store.uploads()
    store.run("store", "backup", seen, "--to", place, "--name", "one")
    store.run("page", "add", seen, "--from", second, "--quiet")
    assert "changes since commit" in store.run("store", "backup", seen, "--to", place, "--name", "two")
    listed = [line.split("\t") for line in store.run("store", "list", place).splitlines()]
    assert [(line[0], line[3]) for line in listed] == [("one", "everything"), ("two", "changes")]
    assert "90 pages of backup two" in store.run("store", "restore", place, "--to", tmp_path / "restored")
    assert "60 pages of backup one" in store.run("store", "restore", place, "--to", tmp_path / "before", "--name", "one")
    said = [store.run("group", "list", folder, "--least", "1", "--json") for folder in (seen, tmp_path / "restored")]
    groups = [[line for line in one.splitlines() if line.startswith("{")] for one in said]
    assert groups[0] == groups[1] and len(groups[0]) > 30
    # Without what it builds on, it is refused by name.
    store.client.delete_object(Bucket=BUCKET, Key=next(key for key in store.keys("backups/") if "one" in key))
    store.run("store", "restore", place, "--to", tmp_path / "none", fails=True)
    assert not (tmp_path / "none").exists() or not any((tmp_path / "none").iterdir())
