"""`pip install` alone gives the program."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import sysconfig
import time

import hapax
from conftest import EXAMPLES, story

SCRIPT = pathlib.Path(sysconfig.get_path("scripts")) / "hapax"


def run(*words: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True, **options)


def test_the_script_is_the_program(tmp_path: pathlib.Path) -> None:
    version = run("--version")
    assert version.returncode == 0 and version.stdout.startswith("hapax ")
    assert run("no-such-command").returncode == 2
    missing = run("fingerprint", tmp_path / "nothing.html")
    assert missing.returncode == 1 and "nothing.html" in missing.stderr
    text = run("fingerprint", "-", input=story(1))
    assert text.returncode == 0 and len(text.stdout.split()[0]) == 16
    assert run("fingerprint", EXAMPLES, "--quiet").stdout.count("\n") > 100


def test_the_program_stands_by_itself_and_the_module_has_no_server_in_it() -> None:
    program, module = SCRIPT.read_bytes(), pathlib.Path(hapax._hapax.__file__).read_bytes()
    assert not program.startswith(b"#!")
    # Messages of panics name their sources.
    for server in (b"/axum-", b"/hyper-"):
        assert server in program and server not in module


def test_a_closed_pipe_is_no_failure() -> None:
    done = subprocess.run(f"'{SCRIPT}' fingerprint '{EXAMPLES}' --quiet | head -1; exit ${{PIPESTATUS[0]}}", shell=True,
                          capture_output=True, text=True, executable="/bin/bash")
    assert done.returncode == 0 and done.stderr == ""


def test_ctrl_c_ends_the_program(tmp_path: pathlib.Path) -> None:
    big = tmp_path / "big.txt"
    big.write_text((story(1, 2000) + "\n") * 20_000)
    process = subprocess.Popen([SCRIPT, "dedup", str(big), "--input-format", "lines", "--out", str(tmp_path / "out")],
                               stderr=subprocess.DEVNULL)
    while not (tmp_path / "out" / ".hapax-work").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == -signal.SIGINT
    assert not (tmp_path / "out" / "summary.json").exists()


def test_serve_stops_when_told(tmp_path: pathlib.Path) -> None:
    command = [SCRIPT, "serve", "--listen", "127.0.0.1:0", "--store", str(tmp_path / "seen")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    url = next(line.split("listening on ")[1].split()[0] for line in process.stderr if "listening on " in line)
    # It answers, so it is ready to be told.
    assert hapax.Client(url).stats()["pages"] == 0
    process.send_signal(signal.SIGINT)
    process.stderr.read()
    assert process.wait(30) == 0


def test_the_module_runs_too() -> None:
    done = subprocess.run([sys.executable, "-m", "hapax.command", "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("hapax ")
