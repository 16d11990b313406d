"""A dataset of a hub, read by the program and by the hub's own client from one server on loopback.

The server answers as that client expects the Hugging Face hub to answer, which is how its layout is known here; the hub itself is
not asked.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import urllib.parse
from typing import Any, Iterator

import pytest

from conftest import Server, program, story

hub_client = pytest.importorskip("huggingface_hub")

COMMIT = "89abcdef0123456789abcdef0123456789abcdef"
TOKEN = "hf_nobody_may_see_this"
FILES = {
    f"data/{split}-{at}.jsonl": "".join(
        json.dumps({"id": f"{split}-{at}-{row}", "text": story(row + 10 * at)}) + "\n" for row in range(10)
    ).encode()
    for split in ("test", "train")
    for at in range(3)
}
FILES["README.md"] = b"# A dataset\n"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        path, query = urllib.parse.unquote(url.path), urllib.parse.parse_qs(url.query)
        base: str = self.server.url  # type: ignore[attr-defined]
        if path.startswith("/blobs/"):
            assert "Authorization" not in self.headers
            return self.body(FILES[path.removeprefix("/blobs/")])
        assert self.headers["Authorization"] == f"Bearer {TOKEN}"
        start = "/api/datasets/owner/corpus"
        if path in (f"{start}/revision/main", start):
            return self.body(json.dumps({"id": "owner/corpus", "sha": COMMIT, "siblings": []}).encode())
        for revision in ("main", COMMIT):
            tree = f"{start}/tree/{revision}"
            if path.startswith(tree):
                return self.tree(path.removeprefix(tree).strip("/"), query, f"{base}{url.path}")
            file = path.removeprefix(f"/datasets/owner/corpus/resolve/{revision}/")
            if file in FILES and path != file:
                content = FILES[file]
                tag = f'"{hashlib.sha1(content).hexdigest()}"'
                headers = {"X-Repo-Commit": COMMIT, "X-Linked-Size": str(len(content)), "X-Linked-ETag": tag, "ETag": tag}
                # Large files are on another host.
                other = base.replace("127.0.0.1", "localhost")
                if file.startswith("data/train"):
                    return self.body(b"", {**headers, "Location": f"{other}/blobs/{urllib.parse.quote(file)}"}, 302)
                return self.body(content, headers)
        self.body(b"{}", status=404)

    def tree(self, folder: str, query: dict[str, list[str]], here: str) -> None:
        paths = sorted(path for path in FILES if not folder or path.startswith(folder + "/"))
        first = int(query.get("cursor", ["0"])[0])
        entries: list[dict[str, Any]] = [
            {"type": "file", "oid": "0" * 40, "size": len(FILES[path]), "path": path} for path in paths[first : first + 2]
        ]
        if first == 0 and not folder:
            entries.append({"type": "directory", "oid": "1" * 40, "size": 0, "path": "data"})
        more = {"Link": f'<{here}?recursive=True&cursor={first + 2}>; rel="next"'} if first + 2 < len(paths) else {}
        self.body(json.dumps(entries).encode(), more)

    def body(self, content: bytes, headers: dict[str, str] = {}, status: int = 200) -> None:
        wanted = self.headers.get("Range", "").removeprefix("bytes=")
        if wanted and status == 200:
            first, last = (int(number) for number in wanted.split("-"))
            headers = {**headers, "Content-Range": f"bytes {first}-{min(last, len(content) - 1)}/{len(content)}"}
            content, status = content[first : last + 1], 206
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = answer

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[str]:
    with Server(Handler) as server:
        yield server.url


def test_the_program_reads_what_the_client_of_the_hub_reads(hub: str, tmp_path: pathlib.Path) -> None:
    client = hub_client.HfApi(endpoint=hub, token=TOKEN)
    listed = client.list_repo_tree("owner/corpus", "data", recursive=True, repo_type="dataset")
    names = sorted(entry.path for entry in listed)
    assert names == sorted(name for name in FILES if name.startswith("data/"))
    local = tmp_path / "local"
    for name in names:
        client.hf_hub_download("owner/corpus", name, repo_type="dataset", local_dir=local)
    environment = {**os.environ, "HF_ENDPOINT": hub, "HF_TOKEN": TOKEN, "NO_PROXY": "127.0.0.1,localhost"}

    def kept(source: str, out: str) -> bytes:
        command = [*program(), "dedup", source, "--out", str(tmp_path / out)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert TOKEN not in done.stdout + done.stderr
        return (tmp_path / out / "kept.jsonl").read_bytes()

    expected = kept(str(local / "data"), "files")
    assert expected.count(b"\n") == 30
    assert kept("hf://datasets/owner/corpus/data", "folder") == expected
    assert kept("hf://datasets/owner/corpus@main/data/*.jsonl", "pattern") == expected
    assert kept("hf://datasets/owner/corpus/data/train-1.jsonl", "one").count(b"\n") == 10
