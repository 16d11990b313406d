"""A corpus in a bucket of Google Cloud Storage, which is a small server on loopback that speaks the part of its XML API that is used.

Objects, listings in pages and multipart uploads; the service itself is not asked.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import pathlib
import random
import subprocess
import urllib.parse
from typing import Any, Iterator
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest

from conftest import Server, program, story

BUCKET = "corpora"
TIME = "2026-01-01T00:00:00.000Z"
#: How many objects a page of a listing has; the service has a thousand.
PAGE = 3


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        bucket, _, key = urllib.parse.unquote(url.path).lstrip("/").partition("/")
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        objects: dict[str, bytes] = self.server.objects  # type: ignore[attr-defined]
        uploads: dict[str, dict[int, bytes]] = self.server.uploads  # type: ignore[attr-defined]
        assert bucket == BUCKET
        if not key:
            return self.listing(objects, query)
        if "uploads" in query:
            name = f"upload-{len(uploads)}"
            uploads[name] = {}
            return self.xml("InitiateMultipartUploadResult", f"<Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><UploadId>{name}</UploadId>")
        if "uploadId" in query and self.command == "PUT":
            uploads[query["uploadId"]][int(query["partNumber"])] = body
            return self.send(b"", {"ETag": tag(body)})
        if "uploadId" in query and self.command == "DELETE":
            del uploads[query["uploadId"]]
            return self.send(b"", status=204)
        if "uploadId" in query:
            numbers = [int(found.text or "") for found in ElementTree.fromstring(body).iter() if found.tag.endswith("PartNumber")]
            parts = uploads.pop(query["uploadId"])
            assert numbers == sorted(parts) and all(len(parts[number]) >= 5 << 20 for number in numbers[:-1])
            objects[key] = b"".join(parts[number] for number in numbers)
            return self.xml("CompleteMultipartUploadResult", f"<Key>{escape(key)}</Key><ETag>{escape(tag(objects[key]))}</ETag>")
        if self.command == "PUT":
            objects[key] = body
            return self.send(b"", {"ETag": tag(body), "x-goog-generation": "1"})
        if key not in objects:
            return self.send(b"<Error><Code>NoSuchKey</Code></Error>", status=404)
        if self.command == "DELETE":
            del objects[key]
            return self.send(b"", status=204)
        content = objects[key]
        headers = {"ETag": tag(content), "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "x-goog-generation": "1"}
        if self.headers.get("If-Match", tag(content)) != tag(content):
            return self.send(b"", status=412)
        if wanted := self.headers.get("Range", "").removeprefix("bytes="):
            first, last = (int(number) for number in wanted.split("-"))
            headers["Content-Range"] = f"bytes {first}-{min(last, len(content) - 1)}/{len(content)}"
            return self.send(content[first : last + 1], headers, 206)
        self.send(content, headers)

    def listing(self, objects: dict[str, bytes], query: dict[str, str]) -> None:
        keys = sorted(key for key in objects if key.startswith(query.get("prefix", "")))
        rest = [key for key in keys if key > query.get("continuation-token", "")]
        more = f"<NextContinuationToken>{escape(rest[PAGE - 1])}</NextContinuationToken>" if len(rest) > PAGE else ""
        found = "".join(
            f"<Contents><Key>{escape(key)}</Key><Generation>1</Generation><LastModified>{TIME}</LastModified>"
            f"<ETag>{escape(tag(objects[key]))}</ETag><Size>{len(objects[key])}</Size></Contents>"
            for key in rest[:PAGE]
        )
        self.xml("ListBucketResult", f"<Name>{BUCKET}</Name><IsTruncated>{str(bool(more)).lower()}</IsTruncated>{more}{found}")

    def xml(self, name: str, inside: str) -> None:
        self.send(f"<?xml version='1.0' encoding='UTF-8'?><{name} xmlns='http://doc.s3.amazonaws.com/2006-03-01'>{inside}</{name}>".encode())

    def send(self, content: bytes, headers: dict[str, str] = {}, status: int = 200) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        pass


def tag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(Handler) as running:
        running.objects, running.uploads = {}, {}  # type: ignore[attr-defined]
        yield running


def test_a_bucket_takes_results_and_gives_them_back(server: Any, tmp_path: pathlib.Path) -> None:
    corpus = tmp_path / "in.jsonl"
    words = story(0, 5000).split()
    texts = (" ".join(random.Random(at - (at % 3 == 2)).choices(words, k=1200)) + " more" * (at % 3 == 2) for at in range(1800))
    corpus.write_text("".join(json.dumps({"id": str(at), "text": text}) + "\n" for at, text in enumerate(texts)))
    account = {"private_key": "", "private_key_id": "", "client_email": "", "disable_oauth": True}
    environment = {
        **os.environ,
        "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account),
        "GOOGLE_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}",
        "NO_PROXY": "127.0.0.1",
    }

    def run(*arguments: object, fails: bool = False) -> str:
        command = [*program(), *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert (done.returncode != 0) == fails, done.stderr
        return done.stdout + done.stderr

    run("dedup", corpus, "--out", tmp_path / "local")
    run("dedup", corpus, "--out", f"gs://{BUCKET}/clean", "--work", tmp_path / "work")
    kept = (tmp_path / "local" / "kept.jsonl").read_bytes()
    assert server.objects["clean/kept.jsonl"] == kept and len(kept) > 8 << 20 and not server.uploads
    # By its name, and by a pattern, for which the bucket is listed.
    for at, named in enumerate(["clean/kept.jsonl", "**/kept.js*"]):
        out = tmp_path / f"again-{at}"
        run("dedup", f"gs://{BUCKET}/{named}", "--out", out)
        assert (out / "kept.jsonl").read_bytes() == kept
    assert "0 kept" in run("dedup", corpus, "--against", f"gs://{BUCKET}/clean", "--dry-run")
    assert "is not empty" in run("dedup", corpus, "--out", f"gs://{BUCKET}/clean", "--work", tmp_path / "work", fails=True)
    assert "no such object" in run("dedup", f"gs://{BUCKET}/nothing", "--dry-run", fails=True)
