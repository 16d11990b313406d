"""Cleaning a corpus on Apache Spark: the job of ``hapax dedup`` for what outgrows a machine.

>>> import hapax.spark
>>> done = hapax.spark.dedup("crawl/*.warc.gz", "clean")            # doctest: +SKIP
>>> done.groups.where("outcome = 'near'").show()                    # doctest: +SKIP

The same inputs and options give the same groups, winners and kept documents, row for row. ``dedup`` makes a
snapshot; ``increment`` makes the next one from it and new documents; ``stream`` does that for every batch of files
that arrives. Executors need the package: ``docs/how-to/spark.md`` says how it gets there.

Reading order: ``steps`` are the functions that run on executors, ``job`` puts them together, ``components`` finds
who is connected, ``outputs`` writes, ``snapshot`` keeps it all complete or known not to be. ``cells`` stands beside
them: ``join_by_length`` finds the stored pages that new ones are like.
"""

from __future__ import annotations

from .batch import Finished, dedup
from .cells import LengthMapping, Recall, join_by_length, learn_mapping, place_by_length, recall_by_length
from .later import increment
from .streaming import each_batch, latest, stream

__all__ = [
    "Finished",
    "LengthMapping",
    "Recall",
    "dedup",
    "each_batch",
    "increment",
    "join_by_length",
    "latest",
    "learn_mapping",
    "place_by_length",
    "recall_by_length",
    "stream",
]
