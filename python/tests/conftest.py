"""What tests share: the example corpus, the program, a running service."""

from __future__ import annotations

import http.server
import os
import pathlib
import random
import subprocess
import sys
import threading
from typing import Iterator

import pytest

import hapax

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "docs"
VECTORS = ROOT / "vectors"


def program() -> list[str]:
    """The program as Rust builds it, or else the one in the wheel."""
    built = os.environ.get("PROGRAM_UNDER_TEST")
    return [built] if built else [sys.executable, "-m", "hapax.command"]


def story(seed: int, words: int = 120) -> str:
    """A text like no other."""
    rng = random.Random(seed)
    return " ".join("".join(rng.choice("abcdefghijklmnop") for _ in range(7)) for _ in range(words))


class Server(http.server.ThreadingHTTPServer):
    """A server of a test on a free port, in a thread. Connections wait for it: one that the default queue of five
    refuses is tried again after a second."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> "Server":
        # Looks often whether it shall stop, so that stopping does not take half a second.
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self.thread.join()


class Service:
    """``hapax serve`` on a free port."""

    def __init__(self, store: pathlib.Path, *options: str) -> None:
        command = [*program(), "serve", "--listen", "127.0.0.1:0", "--store", str(store), *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        said = []
        for line in self.process.stderr:
            said.append(line)
            if "listening on " in line:
                self.url = line.split("listening on ")[1].split()[0].rstrip("/")
                break
        else:
            raise AssertionError("the service did not start: " + "".join(said))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    running = Service(tmp_path / "served")
    yield running
    running.stop()


@pytest.fixture(params=["repository", "service"])
def pages(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[hapax.Pages]:
    """A repository here, and one behind HTTP: whatever holds of one holds of the other."""
    if request.param == "repository":
        with hapax.Repository(tmp_path / "seen") as repository:
            yield repository
    else:
        running = Service(tmp_path / "served")
        yield hapax.Client(running.url)
        running.stop()


@pytest.fixture(scope="session")
def by() -> hapax.Fingerprinter:
    return hapax.Fingerprinter()
