"""Cleaning a corpus on Apache Spark: the job of ``hapax dedup`` for what outgrows a machine.

>>> import hapax.spark
>>> done = hapax.spark.dedup("crawl/*.warc.gz", "clean")            # doctest: +SKIP
>>> done.groups.where("outcome = 'near'").show()                    # doctest: +SKIP

The same inputs and options give the same groups, winners and kept documents, row for row. ``dedup`` makes a
snapshot; ``increment`` makes the next one from it and new documents; ``stream`` does that for every batch of files
that arrives. Executors need the package: ``docs/spark.md`` says how it gets there.

Reading order: ``steps`` are the functions that run on executors, ``job`` puts them together, ``components`` finds
who is connected, ``outputs`` writes, ``snapshot`` keeps it all complete or known not to be.
"""

from __future__ import annotations

from .batch import Finished, dedup
from .later import increment
from .streaming import each_batch, latest, stream

__all__ = ["Finished", "dedup", "each_batch", "increment", "latest", "stream"]
