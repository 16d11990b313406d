"""A Spark of two executors, each a process of its own, on loopback."""

from __future__ import annotations

import os
import pathlib
import shutil
import socket
import sys
from typing import Any, Iterator

import pytest

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java 17", allow_module_level=True)


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


#: How executors reach an object store, should a test start one; they are given it when they start.
STORE = {
    "AWS_ENDPOINT_URL": f"http://127.0.0.1:{unused_port()}",
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "NO_PROXY": "127.0.0.1",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    # Jobs of a second: what the second compiler makes faster is over before it has compiled it.
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    builder = SparkSession.builder
    for name, value in STORE.items():
        builder = builder.config(f"spark.executorEnv.{name}", value)
    session = (
        builder.master(os.environ.get("SPARK_TEST_MASTER", "local-cluster[2,1,1024]"))
        .appName("hapax tests")
        .config("spark.driver.extraJavaOptions", quick)
        .config("spark.executor.extraJavaOptions", quick)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        # Compiling what Spark generates for a query takes longer than these queries do without.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.executorEnv.PYTHONDONTWRITEBYTECODE", "1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def rows_of(folder: pathlib.Path) -> list[dict[str, Any]]:
    """A table as it was written, file after file."""
    import pyarrow.parquet as pq

    files = [folder] if folder.is_file() else sorted(folder.glob("*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]
