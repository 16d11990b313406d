"""Planted truth at size: pages whose groups are known, through the stages of the job on Spark.

``make`` writes pages as the job stores them, without any text: a page is a random fingerprint and sketch; one in ten
is a copy of a *root* with 1 to 3 bits flipped and the root's sketch; roots are drawn with skew, and one of them is a
template with many copies. Roots have the better score, so each root wins its family: the right winner of every page
is known.

    python bench/spark/planted.py make FOLDER --pages 5000000 --template 50000
    python bench/spark/planted.py run FOLDER --out OUT            # on the session that spark-submit gives
    python bench/spark/planted.py run FOLDER --out OUT --local    # on two executors of this machine
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import time
import urllib.request
from typing import Any, Optional

import numpy as np

CHUNK = 250_000
PAGE = np.dtype(
    [
        ("id_length", "<u4"), ("id", "S10"), ("url_length", "<u4"), ("url", "S10"), ("canonical", "u1"),
        ("content", "<u8", 2), ("status", "u1"), ("fingerprint", "<u8"), ("words", "<u4"), ("scope", "<u8"),
        ("sketch", "<u8", 16), ("has_score", "u1"), ("score", "<f8"), ("has_fetched", "u1"),
    ]
)


def mixed(number: np.ndarray) -> np.ndarray:
    """Spreads numbers over 64 bits (splitmix64)."""
    with np.errstate(over="ignore"):
        z = number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def plan(pages: int, template: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The root of every page, and its fingerprint."""
    rng = np.random.default_rng(seed)
    root = np.arange(pages, dtype=np.int64)
    child = rng.random(pages) < 0.1
    roots = np.flatnonzero(~child)
    # Squared twice: a few roots have many copies.
    drawn = roots[(rng.random(int(child.sum())) ** 4 * len(roots)).astype(np.int64)]
    root[child] = drawn
    of_template = rng.choice(np.flatnonzero(child), size=min(template, int(child.sum())), replace=False)
    root[of_template] = roots[len(roots) // 2]
    fingerprint = mixed(root + seed * 1_000_003)
    flips = np.where(root == np.arange(pages), 0, rng.integers(1, 4, pages))
    for turn in range(3):
        bit = np.uint64(1) << rng.integers(0, 64, pages).astype(np.uint64)
        fingerprint = np.where(flips > turn, fingerprint ^ bit, fingerprint)
    return root, fingerprint


def make(folder: pathlib.Path, pages: int, template: int, seed: int) -> None:
    """Writes the pages and the truth."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "pages").mkdir(parents=True, exist_ok=True)
    root, fingerprint = plan(pages, template, seed)
    for number, start in enumerate(range(0, pages, CHUNK)):
        at = np.arange(start, min(pages, start + CHUNK))
        rows = np.zeros(len(at), PAGE)
        rows["id_length"] = rows["url_length"] = 10
        rows["id"] = rows["url"] = np.char.zfill(at.astype("S10"), 10)
        rows["content"] = np.stack([mixed(at), mixed(at + 7 * pages)], axis=1)
        rows["fingerprint"] = fingerprint[at]
        rows["words"] = 100
        rows["sketch"] = mixed(root[at][:, None] * 16 + np.arange(16)[None, :])
        rows["has_score"] = 1
        rows["score"] = root[at] == at
        page = pa.Array.from_buffers(pa.binary(PAGE.itemsize), len(rows), [None, pa.py_buffer(rows.tobytes())]).cast(pa.binary())
        # Equal for one fingerprint, as the job's own rows have it.
        bucket = pa.array(mixed(fingerprint[at]).view(np.int64))
        table = pa.table({"position": at, "bucket": bucket, "page": page, "root": root[at]})
        pq.write_table(table, folder / "pages" / f"part-{number:05d}.parquet", compression="zstd")
    sizes = np.bincount(root)
    truth = {"pages": pages, "groups": int((sizes > 1).sum()), "largest": int(sizes.max()), "copies": int((root != np.arange(pages)).sum())}
    (folder / "truth.json").write_text(json.dumps(truth))
    print(truth)


def session(master: Optional[str], ui: Optional[int]) -> Any:
    """The session that spark-submit gives, or one on loopback."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("hapax planted").config("spark.executor.processTreeMetrics.enabled", "true")
    if master is not None:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["PYSPARK_PYTHON"] = sys.executable
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "2g",
            "spark.executor.cores": "1",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.shuffle.readHostLocalDisk": "false",
            "spark.ui.enabled": "true",
            "spark.ui.port": str(ui or 0),
            "spark.ui.showConsoleProgress": "false",
        }
        builder = builder.master(master)
        for name, value in settings.items():
            builder = builder.config(name, value)
    return builder.getOrCreate()


def run(folder: pathlib.Path, out: str, partitions: int, master: Optional[str], ui: Optional[int]) -> int:
    """The stages from copies to verdicts; how many pages have the wrong winner."""
    from hapax.spark.batch import make_spec
    from hapax.spark.job import Job, representatives_of
    from hapax.spark.snapshot import Snapshot

    spark = session(master, ui)
    spark.sparkContext.setLogLevel("ERROR")
    spec = make_spec("web-2", None, False, {"within": 3, "keep": "score"})
    made = Snapshot(spark, out, "planted")
    made.begin({"folder": str(folder)})
    job = Job(spark, spec, made, partitions, 50_000_000)
    began = last = time.time()
    stages: dict[str, Any] = {}

    def lap(name: str) -> None:
        nonlocal last
        stages[name] = {"seconds": round(time.time() - last, 1), **shuffled(spark)}
        last = time.time()
        print(name, stages[name], flush=True)

    pages = spark.read.parquet(str(folder / "pages"))
    documents = pages.count()
    lap("start")
    copies = job.copies(pages, None)
    lap("copies")
    roles, representatives = job.apply_thinning(copies, job.passes(representatives_of(copies), pages, None))
    lap("passes")
    candidates = job.candidates(representatives)
    lap("candidates")
    pairs = job.pairs(candidates, representatives)
    lap("pairs")
    linked = job.components(job.edges(pairs, roles))
    lap("components")
    verdicts = job.resolve(pages, None, pairs, roles, linked)
    lap("resolve")
    winners = verdicts.where("outcome <> 'effort'").select("position", "winner")
    compared = pages.select("position", "root").join(winners, "position", "left").selectExpr("coalesce(winner, position) <> root as wrong")
    wrong = compared.where("wrong").count()
    keys = candidates.where("distance = -1").selectExpr("sum(b)", "sum(a)").first()
    print(json.dumps({
        "pages": documents, "wrong": wrong, "seconds": round(time.time() - began, 1), "key_rows": keys[0], "rekeyed": keys[1],
        "memory": memory(spark), "stages": stages,
    }), flush=True)
    spark.stop()
    return int(wrong)


def asked_of(spark: Any, what: str) -> Any:
    """What Spark's own web page knows."""
    context = spark.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{what}"
    return json.load(urllib.request.urlopen(url, timeout=30))


def shuffled(spark: Any) -> dict[str, int]:
    """Bytes and rows that stages have written to shuffles so far."""
    stages = asked_of(spark, "stages")
    names = {"shuffle_bytes": "shuffleWriteBytes", "shuffle_rows": "shuffleWriteRecords"}
    return {name: sum(stage[counter] for stage in stages) for name, counter in names.items()}


def memory(spark: Any) -> dict[str, Any]:
    """Peaks of executors: of the heap, and of all Python processes of one."""
    names = ("JVMHeapMemory", "ProcessTreePythonRSSMemory")
    found = {one["id"]: one.get("peakMemoryMetrics") or {} for one in asked_of(spark, "allexecutors")}
    return {executor: {name: peaks.get(name) for name in names} for executor, peaks in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "run"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pages", type=int, default=5_000_000)
    parser.add_argument("--template", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="planted-out")
    parser.add_argument("--partitions", type=int, default=32)
    parser.add_argument("--local", action="store_true", help="two executors of this machine")
    parser.add_argument("--master", help="a master on loopback")
    parser.add_argument("--ui", type=int, help="the port of Spark's web page")
    asked = parser.parse_args()
    if asked.what == "make":
        make(asked.folder, asked.pages, asked.template, asked.seed)
        return 0
    master = "local-cluster[2,1,2048]" if asked.local else asked.master
    return 1 if run(asked.folder, asked.out, asked.partitions, master, asked.ui) else 0


if __name__ == "__main__":
    sys.exit(main())
