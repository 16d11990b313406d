"""The frames of hosts, and what pages say beyond them.

::

    pages with a host --count--> pages of a host --frame_sample--> counted pages --learn_frames--> frames
    frames and pages, by host --own_texts--> 40 bytes a page, joined with the page wherever pages are compared

The frame of a host is an aggregate over its pages; of a large host a bounded sample is counted. A step holds one host at a time, and the pages of a large
host are spread over tasks, each with a copy of its frame.
"""

from __future__ import annotations

import json
from typing import Any, Optional

from . import steps
from .job import Job, together
from .snapshot import table_at

#: Pages of a host that one task compares with its frame.
TOGETHER = 1 << 16


class Frames:
    """The frames of all hosts with one, and the own texts of their pages."""

    def __init__(self, frames: Any, owns: Any) -> None:
        self.frames, self.owns = frames, owns
        #: How many hosts have a frame.
        self.hosts: int = frames.count()


def are_learned(job: Job) -> bool:
    """Does the job compare pages beyond their frames?"""
    return bool(json.loads(job.spec.engine().settings())["frames"] == "on")


def learned(job: Job, stored: list[dict[str, Any]]) -> Optional[Frames]:
    """Learns the frames of all hosts; None if that was not asked for."""
    if not are_learned(job):
        return None
    rows = pieces_of(job.spark, stored)
    frames = job.snapshot.stage("frames", lambda: frames_of(job, rows))
    return Frames(frames, job.snapshot.stage("owns", lambda: owns_of(job, rows, frames)))


def pieces_of(spark: Any, stored: list[dict[str, Any]]) -> Any:
    """Pages that have a host, with their pieces."""
    from pyspark.sql import functions as F

    found = None
    for one in stored:
        offsets = spark.createDataFrame([tuple(pair) for pair in one["offsets"]], "part long, offset long")
        rows = table_at(spark, one["path"], schema=steps.SIGNATURES).where("kind = 0 and host is not null").join(F.broadcast(offsets), "part")
        rows = rows.selectExpr("offset + number as position", "host", "text", "pieces")
        found = rows if found is None else found.union(rows)
    return found


def frames_of(job: Job, rows: Any) -> Any:
    """The frames of hosts that have one."""
    from pyspark.sql import functions as F

    hosts = rows.groupBy("host").agg(F.count("*").alias("pages")).where(f"pages >= {job.spec.engine().MIN_FRAME_PAGES}")
    counted = rows.join(hosts, "host").select("position", "host", "text", "pieces", "pages")
    counted = counted.mapInArrow(steps.each(job.spec, "frame_sample"), steps.HOST_PAGES)
    first = F.min_by("pieces", "position").alias("pieces")
    texts = counted.groupBy("host", "text").agg(first, F.first("pages").alias("pages"))
    by_host = together(texts, job.partitions, "host").sortWithinPartitions("host")
    return by_host.mapInArrow(steps.learn_frames(job.spec), steps.FRAMES)


def owns_of(job: Job, rows: Any, frames: Any) -> Any:
    """The own texts of pages of hosts with a frame."""
    share = f"cast((pages - 1) div {TOGETHER} as long)"
    pages = rows.join(frames.select("host", "pages"), "host").selectExpr("host", f"position % ({share} + 1) as share", "position", "pieces")
    copies = frames.selectExpr("host", f"explode(sequence(0L, {share})) as share", "cast(null as long) as position", "pieces")
    # The frame, which has no position, first.
    by_host = together(copies.union(pages), job.partitions, "host", "share").sortWithinPartitions("host", "share", "position")
    return by_host.select("host", "position", "pieces").mapInArrow(steps.own_texts(job.spec), steps.OWNS)


def largest(job: Job, rows: Any, frames: Any) -> list[dict[str, Any]]:
    """The frames of the hosts with most pages, with the first page of each."""
    from pyspark.sql import functions as F

    hosts = rows.groupBy("host").agg(F.count("*").alias("pages"), F.min("position").alias("position"))
    hosts = hosts.orderBy(F.desc("pages"), F.desc("host")).limit(job.spec.engine().SHOWN_HOSTS)
    shown = hosts.join(frames.select("host", "pieces"), "host").orderBy(F.desc("pages"), "position")
    return [row.asDict() for row in shown.collect()]
