"""What a job leaves for people: groups, removed, kept, summary; the report is in ``report``.

The rows of ``groups.parquet`` and ``removed.parquet`` are those that ``hapax dedup`` writes, in the same order;
here they are folders of files, as Spark writes tables, and whole numbers are signed. ``kept`` has a file for every
part of the inputs, in the format the documents were read in.
"""

from __future__ import annotations

import json
from typing import Any, Optional

from . import steps
from .job import Inputs, Job, Read, spread, with_mark
from .._hapax import StepsCore
from ..errors import ArgumentError

#: How many redirects in a row are followed; as on one machine.
MOST_HOPS = 20
#: Columns of both tables.
COLUMNS = ("document", "url", "group", "winner", "earlier", "outcome", "distance", "similarity", "rule", "reason", "file", "record", "own_similarity", "own_words")
QUOTED = tuple(f"`{name}`" for name in COLUMNS)
#: The last two, of rows that are no documents.
NO_OWN = ("cast(null as float) as own_similarity", "cast(null as long) as own_words")


def verdict_rows(job: Job, pages: Any, verdicts: Any) -> Any:
    """A row for every document."""
    decided = verdicts.where("outcome <> 'effort'")
    rows = job.with_own(with_mark(pages.select("position", "file", "record", "page").join(decided, "position", "left"), None))
    return rows.mapInArrow(steps.each(job.spec, "group_rows"), steps.GROUPS)


def in_order(job: Job, rows: Any, documents: int, passed: Any = None) -> Any:
    """Rows in tasks that follow each other in the order of the corpus, as a table is written file by file. Records
    that were passed over come before the document at their position."""
    from pyspark.sql import functions as F

    each = -(-documents // job.partitions)
    order = ("position", "last", "part", "number")
    rows = rows.select("position", F.lit(True).alias("last"), F.lit(0).cast("long").alias("part"), F.lit(0).cast("long").alias("number"), *COLUMNS)
    if passed is not None:
        rows = rows.union(passed.select("position", F.lit(False).alias("last"), "part", "number", *COLUMNS))
    place = F.least(F.col("position"), F.lit(documents - 1))
    tasks = spread(rows.withColumn("task", F.floor(place / each)), job.partitions, "task")
    return tasks.sortWithinPartitions(*order).selectExpr(*QUOTED)


def passed_rows(passed: Any, leading: Any) -> Any:
    """Rows of ``groups.parquet`` for records that are not documents, without addresses that lead to one."""
    if leading is not None:
        passed = passed.join(leading.selectExpr("part", "number as fact"), ["part", "fact"], "anti")
    nothing = "cast(null as long) as group, cast(null as string) as winner, false as earlier, 'passed_over' as outcome"
    return passed.selectExpr(
        "position", "part", "number", "document", "cast(null as string) as url", *nothing.split(", "),
        "cast(null as long) as distance", "cast(null as float) as similarity", "cast(null as string) as rule", "reason", "file", "record", *NO_OWN,
    )


def addresses(facts: Any, names: Any) -> Any:
    """Addresses that lead to a document, and the position of that document."""
    from pyspark.sql import functions as F

    documents = names.where("url is not null").groupBy("url").agg(F.min("position").alias("position"))
    said = F.min(F.struct("part", "number", "target", "file", "record", "revisit")).alias("said")
    unknown = facts.join(documents.selectExpr("url as source"), "source", "anti")
    first = unknown.groupBy("source").agg(said).select("source", "said.*").cache()
    then = first.selectExpr("source as at", "target as next")
    going = first.selectExpr("source", "target as at")
    found = None
    for _ in range(MOST_HOPS):
        looked = going.join(documents.withColumnRenamed("url", "at"), "at", "left").cache()
        ended = looked.where("position is not null").select("source", "position")
        found = ended if found is None else found.union(ended)
        going = looked.where("position is null").select("source", "at").join(then, "at").selectExpr("source", "next as at")
        if going.isEmpty():
            break
    return first.join(found, "source")


def address_rows(leading: Any, groups: Any) -> Any:
    """Rows of ``groups.parquet`` for addresses without a document, in the order of the corpus."""
    verdicts = groups.select("position", "group", "winner")
    rows = leading.join(verdicts, "position").selectExpr(
        "part", "number", "source as document", "source as url", "group", "winner", "false as earlier",
        "if(revisit, 'revisit', 'redirect') as outcome", "cast(null as long) as distance",
        "cast(null as float) as similarity", "if(revisit, 'revisit', 'redirect') as rule",
        "cast(null as string) as reason", "file", "record", *NO_OWN,
    )
    return rows.coalesce(1).sortWithinPartitions("part", "number").selectExpr(*QUOTED)


def write_tables(job: Job, groups: Any, leading: Any, passed: Any, documents: int) -> None:
    """Both tables."""

    def rows() -> Any:
        all_rows = in_order(job, groups, documents, passed)
        return all_rows if leading is None else all_rows.union(address_rows(leading, groups))

    job.snapshot.output("groups.parquet", rows)
    gone = groups.where("outcome in ('exact', 'near')")
    job.snapshot.output("removed.parquet", lambda: in_order(job, gone, documents))


def kept_ending(asked: Optional[str], sums: dict[str, int], inputs: Inputs) -> str:
    """The format of kept documents: what they were read from, unless the caller says otherwise."""
    if asked is not None:
        return asked
    names = [file for _, file, _ in inputs.items]
    return StepsCore.kept_ending(sums["documents"], sums["archived"], sums["rows"], names)


def write_kept(job: Job, inputs: Inputs, read: Read, groups: Any, ending: str) -> None:
    """The documents that stay; every task reads one part again."""
    from pyspark.sql import functions as F

    snapshot = job.snapshot
    if snapshot.store.exists(snapshot.at("state/written/_SUCCESS")):
        return
    fetched = any(fetch and not steps.reads_itself(file) for _, file, fetch in inputs.items)
    if fetched and snapshot.path.startswith("file:"):
        raise ArgumentError("inputs of an object store need an output folder there, so that every machine can write to it")
    gone = groups.where("outcome in ('exact', 'near')").select("position")
    removed = read.pages.select("position", "part", "number").join(gone, "position")
    removed = removed.groupBy("part").agg(F.collect_list("number").alias("removed"))
    documents = job.spark.createDataFrame(sorted(read.documents.items()), "part long, documents long")
    items = inputs.rows(job.spark, job.partitions).join(F.broadcast(documents), "part").join(removed, "part", "left")
    run = steps.write_kept(job.spec, inputs.inputs, inputs.files, snapshot.at("kept"), ending)
    tasks = min(job.partitions * 4, len(inputs.items))
    snapshot.stage("written", lambda: spread(items, tasks, "part").mapInArrow(run, steps.KEPT))


def write_signatures(job: Job, pages: Any, groups: Any, documents: int) -> None:
    """What ``hapax dedup --against`` needs of the documents that stay, in the order of the corpus."""
    from pyspark.sql import functions as F

    snapshot = job.snapshot
    each = -(-documents // job.partitions)
    stay = groups.where("outcome = 'kept'").select("position")
    rows = with_mark(pages.select("position", "page").join(stay, "position", "semi"), None)
    rows = spread(rows.withColumn("task", F.floor(F.col("position") / each)), job.partitions, "task")
    folder = snapshot.at("kept.signatures")
    run = steps.write_signatures(job.spec, folder)
    if not snapshot.store.exists(snapshot.at("state/signed/_SUCCESS")):
        # A killed run may have had other partitions, and so other files.
        snapshot.store.remove(folder)
    snapshot.stage("signed", lambda: rows.mapInArrow(run, steps.KEPT))


def summary(job: Job, sums: dict[str, int], groups: Any, leading: Any, tables: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """``summary.json``: what was read, what stays, what goes, under which settings."""
    from pyspark.sql import functions as F

    hundredths = F.floor(F.col("similarity").cast("double") * 100).alias("hundredths")
    counts = groups.groupBy("outcome", "distance", hundredths, "rule").count().collect()

    def counted(column: str, *outcomes: str) -> dict[Any, int]:
        sums: dict[Any, int] = {}
        for row in counts:
            if row["outcome"] in outcomes:
                sums[row[column]] = sums.get(row[column], 0) + row["count"]
        return dict(sorted(sums.items()))

    exact, near = (sum(counted("outcome", outcome).values()) for outcome in ("exact", "near"))
    sizes = groups.groupBy("group").count().where("count > 1").groupBy("count").agg(F.count("*")).collect()
    group_sizes = {int(size): int(number) for size, number in sorted(tuple(row) for row in sizes)}
    statuses = {row["status"]: row["count"] for row in tables["pages"].groupBy("status").count().collect()}
    led = {} if leading is None else {row["revisit"]: row["count"] for row in leading.groupBy("revisit").count().collect()}
    # One row of sums each.
    cluster = tables["roles"].selectExpr("sum(if(role = 2, 1, 0)) as a", "sum(if(role = 9, position, 0)) as b", "sum(if(role = 9, target, 0)) as c", "0L as d", "0 as n")
    resolved = tables["verdicts"].where("outcome = 'effort'").selectExpr("sum(position)", "sum(winner)", "sum(distance)", "0L", "1")
    proposed = tables["candidates"].selectExpr(
        "sum(if(distance >= 0, 1, 0))", "sum(if(distance = -1, a, 0))", "sum(if(distance = -1, b, 0))", "sum(if(distance = -2, a, 0))", "2"
    )
    efforts = sorted(cluster.union(resolved).union(proposed).collect(), key=lambda row: row["n"])
    dense, resolving, proposing = ([int(value or 0) for value in row[:4]] for row in efforts)
    job.effort["rekeyed_buckets"], job.effort["key_rows"] = proposing[1], proposing[2]

    prefix = "passed_over_"
    passed_over = {name[len(prefix) :]: count for name, count in sums.items() if name.startswith(prefix) and count}
    return {
        "records": sums["documents"] + sum(passed_over.values()),
        "documents": sums["documents"],
        "body_bytes": sums["body_bytes"],
        "kept": sums["documents"] - exact - near,
        "exact": exact,
        "near": near,
        "known": 0,
        "unconfirmed": 0,
        "groups": sum(group_sizes.values()),
        "largest_group": max(group_sizes, default=0),
        "related_groups": resolving[2],
        "group_sizes": group_sizes,
        "distances": counted("distance", "near"),
        "similarities": counted("hundredths", "near"),
        "decided_by": counted("rule", "exact", "near"),
        "too_short": statuses.get(1, 0),
        "framed_hosts": job.framed_hosts,
        "hides_most": sums["hides_most"],
        "without_words": statuses.get(2, 0),
        "empty": statuses.get(3, 0),
        "not_text": statuses.get(4, 0),
        "other_languages": statuses.get(5, 0),
        "redirects": led.get(False, 0),
        "revisits": led.get(True, 0),
        "passed_over": passed_over,
        "candidate_pairs": proposing[3],
        "compared_pairs": dense[1] + proposing[0] + resolving[0],
        "confirmed_pairs": resolving[1],
        "dense": dense[0],
        "collisions": dense[2],
        "saturated": job.effort.get("saturated", 0),
        "saturated_within": job.effort.get("saturated_within"),
        "saturated_chance": job.effort.get("saturated_chance"),
        "settings": {**json.loads(job.spec.engine().settings()), **said},
    }
