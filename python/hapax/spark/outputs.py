"""What a job leaves for people: groups, removed, kept, summary.

The rows of ``groups.parquet`` and ``removed.parquet`` are those that ``hapax dedup`` writes, in the same order;
here they are folders of files, as Spark writes tables, and whole numbers are signed. ``kept`` has a file for every
part of the inputs, in the format the documents were read in.
"""

from __future__ import annotations

import json
from typing import Any, Optional

from . import steps
from .job import Inputs, Job, spread, with_mark
from ..errors import ArgumentError

#: How many redirects in a row are followed; as on one machine.
MOST_HOPS = 20
#: Columns of both tables.
COLUMNS = ("document", "url", "group", "winner", "earlier", "outcome", "distance", "similarity", "rule", "reason", "file", "record")


def verdict_rows(job: Job, pages: Any, verdicts: Any, documents: int) -> Any:
    """A row for every document, in tasks that follow each other in the order of the corpus."""
    from pyspark.sql import functions as F

    each = -(-documents // job.partitions)
    told = verdicts.where("outcome <> 'effort'")
    rows = with_mark(pages.select("position", "file", "record", "page").join(told, "position", "left"), None)
    rows = rows.withColumn("task", F.floor(F.col("position") / each))
    return job.step(spread(rows, job.partitions, "task"), "group_rows", steps.GROUPS)


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
        "cast(null as string) as reason", "file", "record",
    )
    return rows.coalesce(1).sortWithinPartitions("part", "number").select(*COLUMNS)


def write_tables(job: Job, groups: Any, leading: Any) -> None:
    """Both tables."""
    rows = groups.select(*COLUMNS)
    if leading is not None:
        rows = rows.union(address_rows(leading, groups))
    job.snapshot.output("groups.parquet", rows)
    job.snapshot.output("removed.parquet", groups.where("outcome in ('exact', 'near')").select(*COLUMNS))


def kept_ending(asked: Optional[str], sums: dict[str, int]) -> str:
    """The format of kept documents: what they were read from, unless the caller says otherwise."""
    if asked is not None:
        return asked
    if sums["archived"] == sums["documents"]:
        return "warc.gz"
    return "parquet" if sums["rows"] == sums["documents"] else "jsonl"


def write_kept(job: Job, inputs: Inputs, pages: Any, groups: Any, ending: str) -> None:
    """The documents that stay; every task reads one part again."""
    snapshot = job.snapshot
    if snapshot.store.exists(snapshot.at("state/written/_SUCCESS")):
        return
    if not inputs.inputs and snapshot.path.startswith("file:"):
        raise ArgumentError("inputs of an object store need an output folder there, so that every machine can write to it")
    gone = groups.where("outcome in ('exact', 'near')").select("position")
    removed = pages.select("position", "part", "number").join(gone, "position")
    removed = removed.groupBy("part").agg({"number": "collect_list"}).toDF("part", "removed")
    documents = pages.groupBy("part").count().toDF("part", "documents")
    items = inputs.rows(job.spark, job.partitions).join(documents, "part").join(removed, "part", "left")
    run = steps.write_kept(job.spec, inputs.inputs, inputs.files, snapshot.at("kept"), ending)
    tasks = min(job.partitions * 4, len(inputs.items))
    snapshot.stage("written", lambda: spread(items, tasks, "part").mapInArrow(run, steps.KEPT))


def summary(job: Job, sums: dict[str, int], groups: Any, leading: Any, tables: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """``summary.json``: what was read, what stays, what goes, under which settings."""
    outcomes = {row["outcome"]: row["count"] for row in groups.groupBy("outcome").count().collect()}
    exact, near = outcomes.get("exact", 0), outcomes.get("near", 0)
    sizes = groups.groupBy("group").count().where("count > 1").groupBy("count").agg({"*": "count"}).collect()
    group_sizes = {int(size): int(number) for size, number in sorted(tuple(row) for row in sizes)}
    standings = {row["standing"]: row["count"] for row in tables["pages"].groupBy("standing").count().collect()}
    led = {} if leading is None else {row["revisit"]: row["count"] for row in leading.groupBy("revisit").count().collect()}
    crowd = tables["roles"].selectExpr(
        "sum(if(role = 2, 1, 0))", "sum(if(role = 9, position, 0))", "sum(if(role = 9, target, 0))"
    ).first()
    settled = tables["verdicts"].where("outcome = 'effort'").selectExpr("sum(position)", "sum(winner)", "sum(distance)").first()
    proposed = tables["candidates"].selectExpr(
        "sum(if(distance >= 0, 1, 0))", "sum(if(distance < 0, a, 0))", "sum(if(distance < 0, b, 0))"
    ).first()
    number = lambda value: int(value or 0)  # noqa: E731
    job.effort["rekeyed_buckets"], job.effort["key_rows"] = number(proposed[1]), number(proposed[2])

    def counted(column: str, where: str) -> dict[Any, int]:
        rows = groups.where(where).selectExpr(f"{column} as value").groupBy("value").count().collect()
        return dict(sorted((row["value"], row["count"]) for row in rows))

    return {
        "documents": sums["documents"],
        "body_bytes": sums["body_bytes"],
        "kept": sums["documents"] - exact - near,
        "exact": exact,
        "near": near,
        "known": 0,
        "groups": sum(group_sizes.values()),
        "largest_group": max(group_sizes, default=0),
        "related_groups": number(settled[2]),
        "group_sizes": group_sizes,
        "distances": counted("distance", "outcome = 'near'"),
        "similarities": counted("floor(cast(similarity as double) * 100)", "outcome = 'near'"),
        "decided_by": counted("rule", "outcome in ('exact', 'near')"),
        "too_short": standings.get(1, 0),
        "without_words": standings.get(2, 0),
        "empty": standings.get(3, 0),
        "not_text": standings.get(4, 0),
        "other_languages": standings.get(5, 0),
        "redirects": led.get(False, 0),
        "revisits": led.get(True, 0),
        "passed_records": sums["passed"],
        "error_pages": sums["error_pages"],
        "skipped_bad": sums["bad"],
        "candidate_pairs": number(proposed[0]),
        "compared_pairs": number(crowd[1]) + number(proposed[0]) + number(settled[0]),
        "confirmed_pairs": number(settled[1]),
        "crowded": number(crowd[0]),
        "strangers": number(crowd[2]),
        "hazy": job.effort.get("hazy", 0),
        "hazy_within": job.effort.get("hazy_within"),
        "hazy_chance": job.effort.get("hazy_chance"),
        "settings": {**json.loads(job.spec.engine().settings()), **said},
    }
