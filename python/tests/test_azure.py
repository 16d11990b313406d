"""A corpus in a container of Azurite, the emulator of Azure Blob Storage, on loopback.

Runs where a program ``azurite-blob`` is found (``npm install --global azurite``).
"""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import time
from typing import Iterator

import pytest

from conftest import program, story

AZURITE = shutil.which("azurite-blob")
pytestmark = pytest.mark.skipif(AZURITE is None, reason="there is no azurite-blob")

#: Every installation of the emulator has these.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def make_container(host: str, name: str) -> int:
    """Asks for a new container by a request under the account's key."""
    headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2023-11-03"}
    signed = "PUT" + "\n" * 12 + "".join(f"{key}:{headers[key]}\n" for key in sorted(headers))
    signed += f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    signature = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(signature).decode()}"
    asked = http.client.HTTPConnection(host, timeout=5)
    asked.request("PUT", f"/{ACCOUNT}/{name}?restype=container", headers=headers)
    status = asked.getresponse().status
    asked.close()
    return status


@pytest.fixture
def environment(tmp_path: pathlib.Path) -> Iterator[dict[str, str]]:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    command = [str(AZURITE), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(tmp_path / "azurite")]
    running = subprocess.Popen([*command, "--silent", "--skipApiVersionCheck", "--disableTelemetry"])
    for _ in range(300):
        try:
            assert make_container(f"127.0.0.1:{port}", "corpora") == 201
            break
        except ConnectionError:
            assert running.poll() is None, "it ended"
            time.sleep(0.1)
    yield {
        **os.environ,
        "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        "AZURE_STORAGE_USE_EMULATOR": "true",
        "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}",
        "NO_PROXY": "127.0.0.1",
    }
    running.terminate()
    running.wait(30)


def test_a_container_takes_results_and_gives_them_back(environment: dict[str, str], tmp_path: pathlib.Path) -> None:
    corpus = tmp_path / "in.jsonl"
    words = story(0, 5000).split()
    texts = (" ".join(random.Random(at - (at % 3 == 2)).choices(words, k=1200)) + " more" * (at % 3 == 2) for at in range(1800))
    corpus.write_text("".join(json.dumps({"id": str(at), "text": text}) + "\n" for at, text in enumerate(texts)))

    def run(*arguments: object, fails: bool = False) -> str:
        command = [*program(), *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert KEY not in done.stdout + done.stderr
        assert (done.returncode != 0) == fails, done.stderr
        return done.stdout + done.stderr

    run("dedup", corpus, "--out", tmp_path / "local")
    run("dedup", corpus, "--out", "az://corpora/clean", "--work", tmp_path / "work")
    kept = (tmp_path / "local" / "kept.jsonl").read_bytes()
    assert len(kept) > 8 << 20
    # By its name, and by a pattern, for which the container is listed.
    for at, named in enumerate(["clean/kept.jsonl", "**/kept.js*"]):
        out = tmp_path / f"again-{at}"
        run("dedup", f"az://corpora/{named}", "--out", out)
        assert (out / "kept.jsonl").read_bytes() == kept
    assert "0 kept" in run("dedup", corpus, "--against", "az://corpora/clean", "--dry-run")
    assert "is not empty" in run("dedup", corpus, "--out", "az://corpora/clean", "--work", tmp_path / "work", fails=True)
    assert "no such object" in run("dedup", "az://corpora/nothing", "--dry-run", fails=True)
    run("page", "add", tmp_path / "seen", "--create", "--from", corpus, "--quiet")
    run("store", "backup", tmp_path / "seen", "--to", "az://corpora/backups")
    assert "1,800 pages" in run("store", "restore", "az://corpora/backups", "--to", tmp_path / "restored")
