"""Files that arrive: every batch of them makes the next snapshot.

Structured Streaming finds new files and hands each batch to :func:`hapax.spark.increment` through ``foreachBatch``.
The snapshot is named after the batch, so a batch that is replayed after a failure finds its snapshot complete, or
goes on with it: whatever happens, every document is counted once. Batches are of one query: its checkpoint says
which comes next, and a stream whose checkpoint was lost is refused rather than numbered from 0 again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Callable, Optional

from .batch import Finished, JobOptions, Path, dedup, session
from .later import increment
from .snapshot import Snapshot, Store
from ..errors import JobError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery
    from typing_extensions import Unpack


def each_batch(out: Path, spark: Optional["SparkSession"] = None, **options: "Unpack[JobOptions]") -> Callable[["DataFrame", int], None]:
    """A function for ``foreachBatch``: makes snapshot N of batch N and snapshot N - 1.

    For any source of documents, such as Kafka; ``options`` are those of :func:`hapax.spark.dedup`.
    """
    folder = os.fspath(out)

    def run(rows: "DataFrame", batch: int) -> None:
        active = session(spark if spark is not None else rows.sparkSession)
        here = Snapshot(active, folder, str(batch))
        if here.metadata() is not None:
            return
        if rows.isEmpty():
            raise JobError(f"batch {batch} is empty; the source should not have handed it over")
        if batch == 0:
            dedup(rows, folder, spark=active, snapshot="0", **options)
            return
        before = Snapshot(active, folder, str(batch - 1))
        before.complete()
        increment(rows, folder, spark=active, base=str(batch - 1), snapshot=str(batch), **options)

    return run


def stream(
    source: Path,
    out: Path,
    *,
    checkpoint: Path,
    schema: str,
    format: str = "json",
    spark: Optional["SparkSession"] = None,
    files_per_batch: Optional[int] = None,
    once: bool = False,
    **options: "Unpack[JobOptions]",
) -> "StreamingQuery":
    """Starts to follow a folder of arriving JSONL or Parquet files; the running query.

    ``schema`` is that of the files, as Spark writes schemas. With ``once``, everything that is there is worked off and
    the query ends.
    """
    active = session(spark)
    check_checkpoint(active, os.fspath(out), os.fspath(checkpoint))
    reader = active.readStream.format(format).schema(schema)
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch)
    query = reader.load(os.fspath(source)).writeStream.foreachBatch(each_batch(out, active, **options))
    query = query.option("checkpointLocation", os.fspath(checkpoint))
    if once:
        query = query.trigger(availableNow=True)
    return query.start()


def check_checkpoint(spark: "SparkSession", out: str, checkpoint: str) -> None:
    """A stream that has made snapshots must know which batches they were."""
    store = Store(spark)
    made = store.names(f"{out}/snapshots")
    if made and not store.names(f"{checkpoint}/commits") and not store.names(f"{checkpoint}/offsets"):
        raise JobError(
            f"{out} has snapshots of a stream and {checkpoint} has no record of it: the checkpoint was lost, and batches would "
            "be numbered from 0 again. Restore the checkpoint, or start the stream with a new output folder and a new checkpoint"
        )


def latest(out: Path, spark: Optional["SparkSession"] = None) -> Optional[Finished]:
    """The last complete snapshot of a stream; None before the first."""
    active = session(spark)
    store = Store(active)
    numbers = sorted((int(name) for name in store.names(f"{os.fspath(out)}/snapshots") if name.isdigit()), reverse=True)
    for number in numbers:
        snapshot = Snapshot(active, os.fspath(out), str(number))
        metadata = snapshot.metadata()
        if metadata is not None:
            return Finished(active, snapshot, metadata)
    return None
