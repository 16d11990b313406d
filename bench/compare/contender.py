"""One tool, run in a process of its own: what it measured, and what was seen of it from outside.

Peers from PyPI are each installed into a folder of their own, because what one needs another may not bear; the interpreter
is that of one virtual environment. Peers from crates.io and Hapax itself are in the program `hapax-compare`. All lie under
the target folder. A contender that cannot be installed, fails or takes too long is an answer, too: why.
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


# Limits are of CPU time, which a busy machine does not change; by the clock, so many times as much.
PATIENCE = 20
# Who takes so many times as long as we do runs once.
ENOUGH = 20


class Failed(Exception):
    """Why there is no row."""


@dataclasses.dataclass
class Seen:
    """One run: what the contender said, and seconds and memory from outside."""

    report: dict
    wall: float
    cpu: float
    peak: int


@dataclasses.dataclass(frozen=True)
class Contender:
    """A tool and how it is set. Without packages it is compiled into `hapax-compare`."""

    name: str
    tool: str
    packages: tuple = ()
    options: dict = dataclasses.field(default_factory=dict)
    # At most so many documents or fingerprints, and what ends beyond.
    most: int = 1 << 62
    beyond: str = ""
    ours: bool = False
    # Why it is left out of a quick run, if it is.
    heavy: str = ""


class Ground:
    """Where contenders are installed and started."""

    def __init__(self, target, seconds, full=False):
        self.full = full
        self.target = pathlib.Path(target)
        self.folder = self.target / "compare"
        # Its own, so that families can be measured at the same time.
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
        """The folder that holds the packages, installed on first use."""
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
        """Runs a command; the last line it prints is its report."""
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
        """The peer's pinned release; ours has none."""
        if contender.packages:
            return contender.packages[0].split("==")[1]
        return releases.CRATES.get(contender.name.split()[0], "")


def in_turn(ground, contenders, rounds, run, size):
    """Every contender `rounds` times, in turn, so that a busy machine is busy for all.

    The run in the middle counts: the clock of a process errs in both directions. What took `ENOUGH` times as long as ours
    is not made to do it again. Gives contender and what was seen, or why nothing was.
    """
    runs, failed_ones, quickest = collections.defaultdict(list), {}, None
    for turn in range(rounds):
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
    """The run in the middle by its time; of two the slower one. Memory is the most of all."""
    ordered = sorted(runs, key=lambda it: it.report.get("seconds") or it.cpu)
    return dataclasses.replace(ordered[len(ordered) // 2], peak=max(it.peak for it in runs))


def log(line):
    print(line, file=sys.stderr, flush=True)
