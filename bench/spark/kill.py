"""What a lost machine costs: a standalone master and two workers on loopback, one of them killed in a reduce stage.

The worker and its executor get SIGKILL when a stage that reads a shuffle is partly done. Survivors may not read the dead
executor's files from the shared disk (``spark.shuffle.readHostLocalDisk=false``), so its map output is really lost.
With ``--driver`` the driver is killed instead and the job run again, which must give the same rows.

    python bench/spark/planted.py make FOLDER --pages 1000000
    python bench/spark/kill.py FOLDER --runs 3
    python bench/spark/kill.py FOLDER --driver
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from typing import Any, Optional

HERE = pathlib.Path(__file__).resolve().parent
PLANTED = str(HERE / "planted.py")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Cluster:
    """A master and two workers, ended by their process ids."""

    def __init__(self, folder: pathlib.Path, memory: str) -> None:
        import pyspark

        self.folder, self.memory, self.running = folder, memory, []  # type: ignore[var-annotated]
        self.spark_class = str(pathlib.Path(pyspark.__file__).parent / "bin" / "spark-class")
        self.environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        self.url = f"spark://127.0.0.1:{free_port()}"

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        log = open(self.folder / f"{name}.log", "wb")
        process = subprocess.Popen([self.spark_class, *command], env=self.environment, stdout=log, stderr=log, start_new_session=True)
        self.running.append(process)
        return process

    def __enter__(self) -> "Cluster":
        port = self.url.rsplit(":", 1)[1]
        self.start("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", str(free_port()))
        self.workers = [
            self.start(
                f"worker{number}", "org.apache.spark.deploy.worker.Worker", "-c", "1", "-m", self.memory, "--host", "127.0.0.1",
                "-d", str(self.folder / f"work{number}"), "--webui-port", str(free_port()), self.url,
            )
            for number in range(2)
        ]
        for _ in range(240):
            if (self.folder / "master.log").read_text(errors="replace").count("Registering worker") == 2:
                return self
            time.sleep(0.5)
        raise SystemExit("the workers did not register")

    def kill_worker(self) -> None:
        worker = self.workers[0].pid
        for pid in [*children(worker), worker]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def __exit__(self, *_: object) -> None:
        for process in self.running:
            for pid in [*children(process.pid), process.pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.wait()


def children(parent: int) -> list[int]:
    """All processes below one."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == parent:
                found += [*children(int(entry.name)), int(entry.name)]
    return found


def reducing(ui: int) -> Optional[dict[str, Any]]:
    """A stage that reads a shuffle and is partly done."""
    try:
        root = f"http://127.0.0.1:{ui}/api/v1/applications"
        application = json.load(urllib.request.urlopen(root, timeout=5))[0]["id"]
        stages = json.load(urllib.request.urlopen(f"{root}/{application}/stages?status=active", timeout=5))
    except (OSError, ValueError, IndexError):
        # Not yet, or no more.
        return None
    for stage in stages:
        if stage["shuffleReadBytes"] > 1_000_000 and 1 <= stage["numCompleteTasks"] < stage["numTasks"] - 1:
            return dict(stage)
    return None


def job(cluster: Cluster, folder: str, out: str, ui: int, log: pathlib.Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, PLANTED, "run", folder, "--out", out, "--master", cluster.url, "--ui", str(ui), "--partitions", "16"]
    return subprocess.Popen(command, env=cluster.environment, stdout=open(log, "ab"), stderr=subprocess.STDOUT, start_new_session=True)


def outcome(log: pathlib.Path) -> dict[str, Any]:
    """The last line of a run that is JSON."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith('{"pages"')]
    return dict(json.loads(lines[-1])) if lines else {"wrong": None}


def run(folder: str, number: int, driver: bool, memory: str, skip: int) -> dict[str, Any]:
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="hapax-kill-"))
    out, log, ui = str(scratch / "out"), scratch / "driver.log", free_port()
    try:
        with Cluster(scratch, memory) as cluster:
            process = job(cluster, folder, out, ui, log)
            seen, killed = set(), None
            while process.poll() is None and killed is None:
                stage = reducing(ui)
                if stage is not None:
                    seen.add(stage["stageId"])
                    if len(seen) > skip:
                        killed = {name: stage[name] for name in ("stageId", "numCompleteTasks", "numTasks")}
                        if driver:
                            for pid in [*children(process.pid), process.pid]:
                                os.kill(pid, signal.SIGKILL)
                        else:
                            cluster.kill_worker()
                time.sleep(0.3)
            process.wait()
            if driver and killed is not None:
                time.sleep(3)
                process = job(cluster, folder, out, ui, log)
                process.wait()
            done = outcome(log)
            return {"run": number, "killed": killed, "exit": process.returncode, "wrong": done["wrong"], "pages": done.get("pages"), "seconds": done.get("seconds")}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--driver", action="store_true")
    parser.add_argument("--memory", default="3g")
    parser.add_argument("--skip", type=int, default=0, help="so many reduce stages are left alone first, one more in each run")
    asked = parser.parse_args()
    bad = 0
    for number in range(asked.runs):
        result = run(asked.folder, number, asked.driver, asked.memory, asked.skip + number)
        print(json.dumps(result), flush=True)
        bad += result["wrong"] != 0 or result["killed"] is None
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
