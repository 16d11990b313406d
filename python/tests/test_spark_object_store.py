"""The job on Spark reads from a real S3 server on loopback, by the engine's own reader inside the workers."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

pytest.importorskip("pyspark")

import hapax.spark  # noqa: E402

from spark_cluster import STORE, spark  # noqa: E402, F401
from test_spark import on_one_machine, synthetic  # noqa: E402

moto_server = pytest.importorskip("moto.server")
boto3 = pytest.importorskip("boto3")


def test_objects_are_cleaned_as_on_one_machine(spark: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in STORE.items():
        monkeypatch.setenv(name, value)
    port = int(STORE["AWS_ENDPOINT_URL"].rpartition(":")[2])
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    try:
        client = boto3.client("s3", endpoint_url=STORE["AWS_ENDPOINT_URL"], region_name="us-east-1")
        client.create_bucket(Bucket="corpora")
        rows = synthetic(300, 7)
        for at in range(3):
            lines = "".join(json.dumps(row) + "\n" for row in rows[at * 100 : at * 100 + 100])
            client.put_object(Bucket="corpora", Key=f"in/part-{at}.jsonl", Body=lines.encode())
        corpus = "s3://corpora/in/*.jsonl"
        on_one_machine([corpus], tmp_path / "machine")
        hapax.spark.dedup(corpus, str(tmp_path / "spark"), spark=spark)
    finally:
        server.stop()
    kept = sorted((tmp_path / "spark" / "snapshots" / "0" / "kept").glob("*.jsonl"))
    assert len(kept) == 3
    assert b"".join(path.read_bytes() for path in kept) == (tmp_path / "machine" / "kept.jsonl").read_bytes()
