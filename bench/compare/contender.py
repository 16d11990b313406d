"""Runs each tool in its own process and measures it from inside and outside.

Peers from PyPI are each installed into a separate folder, because their dependencies may conflict; they share the interpreter
of one virtual environment. Peers from crates.io and Hapax itself are in the program `hapax-compare`. All files are under the
target folder. If a contender cannot be installed, fails or takes too long, the reason is reported instead of a result.
"""

import atexit
import collections
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import releases

HERE = pathlib.Path(__file__).resolve().parent


# Limits apply to CPU time, which does not depend on load. The wall-clock limit is this many times as long.
PATIENCE = 20
# A contender that takes this many times as long as ours runs only once.
ENOUGH = 20


class Failed(Exception):
    """The reason for a missing result."""


@dataclasses.dataclass
class Seen:
    """One run: the contender's report, and time and memory measured from outside."""

    report: dict
    wall: float
    cpu: float
    peak: int


@dataclasses.dataclass(frozen=True)
class Contender:
    """A tool with its settings. Without packages it is compiled into `hapax-compare`."""

    name: str
    tool: str
    packages: tuple = ()
    options: dict = dataclasses.field(default_factory=dict)
    # Maximum number of documents or fingerprints, and the reason for it.
    most: int = 1 << 62
    beyond: str = ""
    ours: bool = False
    # Reason to skip it in a quick run; empty to run it.
    heavy: str = ""


class Ground:
    """Installs and starts contenders."""

    def __init__(self, target, seconds, full=False):
        self.full = full
        self.target = pathlib.Path(target)
        self.folder = self.target / "compare"
        # A separate folder, so that families can be measured at the same time.
        self.scratch = self.folder / f"scratch-{os.getpid()}"
        self.scratch.mkdir(parents=True)
        atexit.register(shutil.rmtree, self.scratch, ignore_errors=True)
        self.seconds = seconds
        self.program = self.target / "release" / "hapax-compare"
        self.hapax = self.target / "release" / "hapax"
        self.broken = {}

    def python(self):
        python = self.folder / "venv" / "bin" / "python"
        if not python.exists():
            log(f"making {python.parent.parent}")
            subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        return python

    def installed(self, packages):
        """The folder of the packages, which are installed on first use."""
        name = packages[0].split("==")[0]
        if packages in self.broken:
            raise Failed(self.broken[packages])
        folder = self.folder / "peers" / "+".join(package.replace("==", "-") for package in packages)
        if not (folder / "installed").exists():
            log(f"installing {' '.join(packages)}")
            command = [self.python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                       "--no-compile", "--upgrade", "--target", folder, *packages]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                lines = [line for line in done.stderr.splitlines() if "ERROR" in line] or ["no reason given"]
                self.broken[packages] = f"{name} does not install: {lines[-1].removeprefix('ERROR: ')}"
                raise Failed(self.broken[packages])
            (folder / "installed").touch()
        return folder

    def run(self, contender, family, job):
        """Runs one contender on one job."""
        job = {"family": family, "tool": contender.tool, **job, **contender.options}
        if contender.packages:
            path = self.installed(contender.packages)
            command = [self.python(), HERE / "peers" / f"{family}.py", json.dumps(job, default=str)]
            return self.watched(command, {"PYTHONPATH": str(path)})
        return self.watched([self.program, json.dumps(job, default=str)])

    def watched(self, command, environment=None, answers=True):
        """Runs a command; its report is the last line that it prints."""
        settings = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", **(environment or {})}
        cost = self.scratch / "cost.json"
        cost.unlink(missing_ok=True)
        watch = [sys.executable, "-I", "-S", HERE / "watch.py", cost, self.seconds]
        with open(self.scratch / "errors.txt", "w+", encoding="utf-8", errors="replace") as errors:
            child = subprocess.Popen(
                [str(word) for word in [*watch, *command]], stdout=subprocess.PIPE, stderr=errors, env=settings,
                start_new_session=True,
            )
            try:
                output, _ = child.communicate(timeout=PATIENCE * self.seconds)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                raise Failed(f"not through after {PATIENCE * self.seconds} s") from None
            if not cost.exists():
                raise Failed("was stopped from outside")
            used = json.loads(cost.read_text(encoding="ascii"))
            if used["code"] == -signal.SIGXCPU:
                raise Failed(f"not through after {self.seconds} s of CPU time")
            if used["code"] != 0:
                errors.seek(0)
                lines = [line for line in errors.read().splitlines() if line.strip()] or ["no reason given"]
                raise Failed(f"failed: {lines[-1].strip()[:200]}")
        report = json.loads(output.decode("utf-8", "replace").strip().splitlines()[-1]) if answers else {}
        return Seen(report, used["wall"], used["cpu"], used["peak"])

    def version(self, contender):
        """The peer's pinned release; empty for ours."""
        if contender.packages:
            return contender.packages[0].split("==")[1]
        return releases.CRATES.get(contender.name.split()[0], "")


def alternating(ground, contenders, rounds, run, size):
    """Runs every contender `rounds` times, alternating, so that load of the machine affects all alike.

    The median run counts, because CPU times vary in both directions. Contenders that take `ENOUGH` times as long as ours are
    not repeated. Returns each contender with its run, or with the reason for its failure.
    """
    runs, failed_ones, quickest = collections.defaultdict(list), {}, None
    for number in range(rounds):
        for contender in contenders:
            before = runs[contender.name]
            if contender.name in failed_ones or (before and quickest and before[0].cpu > ENOUGH * quickest):
                continue
            try:
                if contender.heavy and not ground.full:
                    raise Failed(f"not in a quick run: {contender.heavy}")
                if size > contender.most:
                    raise Failed(f"not run above {contender.most:,}: {contender.beyond}")
                seen = run(contender)
            except Failed as failed:
                failed_ones[contender.name] = failed
                log(f"  {contender.name}: {failed}")
                continue
            seen.report.setdefault("items", 0)
            log(f"  {contender.name}: {seen.cpu:.2f} s CPU, {seen.peak / 1e6:.0f} MB")
            if contender.ours:
                quickest = min(quickest or seen.cpu, seen.cpu)
            before.append(seen)
    return [(it, failed_ones.get(it.name) or middle(runs[it.name])) for it in contenders]


def middle(runs):
    """The median run by time; the slower of two. Memory is the maximum of all runs."""
    ordered = sorted(runs, key=lambda it: it.report.get("seconds") or it.cpu)
    return dataclasses.replace(ordered[len(ordered) // 2], peak=max(it.peak for it in runs))


def log(line):
    print(line, file=sys.stderr, flush=True)
