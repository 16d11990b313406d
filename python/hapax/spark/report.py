"""``report.html`` of a job: the page that ``hapax dedup`` writes, gathered from tables.

Spark counts, sorts and fetches; what is shown of it and how is said in Rust (``hapax_dedup::distributed``). Everything
that comes to the driver is bounded: a few dozen rows, the texts of at most twelve pairs, and a histogram.
"""

from __future__ import annotations

import json
from typing import Any, Optional

from . import steps
from .frames import Frames, largest as largest_hosts, pieces_of
from .job import Inputs, Job, Read, spread

#: Into how many stretches the corpus is cut to find the n-th of its near-duplicates without sorting them.
STRETCHES = 4096


class Texts:
    """Where texts can be read again: the inputs of this job, whose documents begin at ``first``."""

    def __init__(self, inputs: Inputs, read: Read, first: int = 0) -> None:
        self.inputs, self.read, self.first = inputs, read, first

    def of(self, job: Job, positions: list[int]) -> dict[int, dict[str, Any]]:
        """Words, title and text by position."""
        from pyspark.sql import functions as F

        if not positions:
            return {}
        wanted = self.read.pages.where(F.col("position").isin(positions)).select("position", "part", "number")
        places = {(row["part"], row["number"]): row["position"] for row in wanted.collect()}
        parts: dict[int, list[int]] = {}
        for part, number in places:
            parts.setdefault(part, []).append(number)
        items = [(part, file, fetch, parts[part]) for part, file, fetch in self.inputs.items if part in parts]
        rows = job.spark.createDataFrame(items, "part long, file string, fetch boolean, wanted array<long>")
        run = steps.example_texts(job.spec, self.inputs.inputs, self.inputs.files)
        found = spread(rows, len(items), "part").mapInArrow(run, steps.TEXTS).collect()
        keys = ("words", "title", "text", "cut")
        return {places[row["part"], row["number"]]: {key: row[key] for key in keys} for row in found}


def write(job: Job, summary: dict[str, Any], groups: Any, pairs: Any, texts: Texts, passed: Any, learned: tuple[Optional[Frames], list[dict[str, Any]]]) -> None:
    """Gathers what the page shows, and writes it."""
    gathered = {
        "summary": summary,
        "origins": origins(job, groups),
        "groups": largest(job, groups),
        "examples": examples(job, groups, pairs, texts),
        "passed": first_passed(job, passed),
        "frames": frames(job, groups, texts, *learned),
    }
    page = job.spec.engine().report(json.dumps(gathered))
    job.snapshot.store.write(job.snapshot.at("report.html"), page.encode())


def frames(job: Job, groups: Any, texts: Texts, found: Optional[Frames], stored: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The frames of the largest hosts, each on the first page of the host if this job has read it."""
    if found is None or not found.hosts:
        return []
    hosts = largest_hosts(job, pieces_of(job.spark, stored), found.frames)
    positions = [host["position"] for host in hosts if host["position"] >= texts.first]
    read, names = texts.of(job, positions), addresses(groups, positions)
    shown = [host for host in hosts if host["position"] in read]
    draw = job.spec.engine().shown_frame
    return [
        json.loads(draw(names[at], host["pages"], read[at]["text"], bytes(host["pieces"])))
        for host in shown
        for at in (host["position"],)
    ]


def first_passed(job: Job, passed: Any) -> list[dict[str, Any]]:
    """The first records that were passed over."""
    first = passed.orderBy("part", "number").limit(job.spec.engine().SHOWN[4]).select("document", "reason", "file", "record")
    return [row.asDict() for row in first.collect()]


def origins(job: Job, groups: Any) -> dict[str, Any]:
    """Hosts, or folders of documents without an address, that lose most."""
    from pyspark.sql import functions as F

    core = job.spec.engine()
    most = core.SHOWN[0]
    rows = groups.select("document", "url", "outcome")
    folders = rows.mapInArrow(steps.common_folder(job.spec), steps.FOLDERS).distinct().collect()
    common = core.common_of([row["folder"] for row in folders])
    found = rows.mapInArrow(steps.each(job.spec, "origins", common), steps.ORIGINS).groupBy("name")
    found = found.agg(*(F.sum(what).alias(what) for what in ("documents", "exact", "near")))
    removed = (F.col("exact") + F.col("near")).alias("removed")
    shown = found.orderBy(removed.desc(), "name").limit(most).collect()
    all_of_them = found.select(removed).agg(F.count("*").alias("count"), F.sum("removed").alias("removed")).first()
    return {
        "shown": [row.asDict() for row in shown],
        "more": all_of_them["count"] - len(shown),
        "more_removed": (all_of_them["removed"] or 0) - sum(row["exact"] + row["near"] for row in shown),
    }


def largest(job: Job, groups: Any) -> dict[str, Any]:
    """The largest groups, and the best documents of each."""
    from pyspark.sql import functions as F

    _, most, most_documents, *_ = job.spec.engine().SHOWN
    sizes = groups.groupBy("group").count().where("count > 1")
    shown = sizes.orderBy(F.desc("count"), "group").limit(most).collect()
    members = groups.where(F.col("group").isin([row["group"] for row in shown]) & (F.col("rank") < most_documents))
    documents: dict[int, list[dict[str, Any]]] = {}
    for row in members.orderBy("group", "rank").collect():
        documents.setdefault(row["group"], []).append({
            "address": row["url"] or row["document"],
            "outcome": row["outcome"],
            "distance": row["distance"],
            "similarity": row["similarity"],
            "reason": None if row["rule"] is None else f"{row['rule']}: {row['reason']}",
        })
    return {
        "shown": [
            {"size": row["count"], "winner": documents[row["group"]][0]["address"], "documents": documents[row["group"]]}
            for row in shown
        ],
        "more": sizes.count() - len(shown),
    }


def examples(job: Job, groups: Any, pairs: Any, texts: Texts) -> list[dict[str, Any]]:
    """Pairs side by side: near-duplicates from the least to the most similar, and pairs that were nearly confirmed."""
    chosen = [*near(job, groups, texts.first), *apart(job, groups, pairs, texts.first)]
    positions = sorted({position for pair in chosen for position in pair["places"]})
    read, names = texts.of(job, positions), addresses(groups, positions)
    shown = []
    for pair in chosen:
        places = pair.pop("places")
        if all(position in read for position in places):
            shown.append({**pair, "sides": [{"address": names[position], **read[position]} for position in places]})
    return shown


def addresses(groups: Any, positions: list[int]) -> dict[int, str]:
    """What documents are called: a file that was fetched to be read has another name there."""
    from pyspark.sql import functions as F

    if not positions:
        return {}
    rows = groups.where(F.col("position").isin(positions)).select("position", "url", "document").collect()
    return {row["position"]: row["url"] or row["document"] for row in rows}


def near(job: Job, groups: Any, first: int) -> list[dict[str, Any]]:
    """Some near-duplicates, evenly over the range of similarities, whose texts and winners' texts can be read."""
    from pyspark.sql import functions as F

    rows = groups.where(f"outcome = 'near' and position >= {first} and `group` >= {first}")
    last = rows.agg(F.max("position")).first()[0]
    if last is None:
        return []
    width = last // STRETCHES + 1
    stretch = F.floor(F.col("position") / width).alias("stretch")
    counted = rows.groupBy("similarity", stretch).count().collect()
    counted = sorted((row["similarity"], row["stretch"], row["count"]) for row in counted)
    before, wanted = 0, job.spec.engine().shown_of(sum(count for _, _, count in counted))
    ranks: list[list[int]] = []
    cells: Any = None
    for similarity, at, count in counted:
        here = [rank - before for rank in wanted if before <= rank < before + count]
        before += count
        if here:
            same = F.col("similarity") == F.lit(similarity).cast("float")
            inside = rows.where(same & F.col("position").between(at * width, (at + 1) * width - 1))
            inside = inside.orderBy("position").limit(here[-1] + 1).withColumn("cell", F.lit(len(ranks)))
            cells = inside if cells is None else cells.union(inside)
            ranks.append(here)
    collected = sorted(cells.collect(), key=lambda row: (row["cell"], row["position"]))
    found = [[row for row in collected if row["cell"] == cell][rank] for cell, here in enumerate(ranks) for rank in here]
    return [
        {
            "alike": True, "distance": row["distance"], "similarity": row["similarity"], "reason": row["reason"],
            "places": (row["group"], row["position"]),
        }
        for row in found
    ]


def apart(job: Job, groups: Any, pairs: Any, first: int) -> list[dict[str, Any]]:
    """The most similar of the pairs that were not confirmed and ended in different groups."""
    from pyspark.sql import functions as F

    core = job.spec.engine()
    refused = pairs.where(f"not alike and a >= {first} and b >= {first}")
    refused = refused.orderBy(F.desc("similarity"), "a", "b").limit(core.SHOWN[3]).collect()
    ends = sorted({end for row in refused for end in (row["a"], row["b"])})
    of: dict[int, Optional[int]] = {}
    if ends:
        of = {row["position"]: row["group"] for row in groups.where(F.col("position").isin(ends)).collect()}
    refused = [row for row in refused if of.get(row["a"]) != of.get(row["b"])]
    shown = core.shown_apart([(row["a"], row["b"]) for row in refused])
    return [
        {
            "alike": False, "distance": refused[at]["distance"], "similarity": refused[at]["similarity"], "reason": None,
            "places": (refused[at]["a"], refused[at]["b"]),
        }
        for at in shown
    ]
