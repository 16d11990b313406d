"""The whole job on Spark: the same groups, winners and rows as ``hapax dedup``, for a corpus of any size.

::

    items --signature--> pages --frames--> own texts    (see :mod:`hapax.spark.frames`)
    pages, own texts --copies--> roles --thin--> representatives --keys, candidates--> candidates --confirm--> pairs
    pairs, roles --components--> linked --resolve--> verdicts --> groups, removed, kept, summary

Every stage is written to the snapshot (see :mod:`hapax.spark.snapshot`). Documents are known by their position
in the corpus, which follows from files and records: a task that runs twice gives the same rows. Spark moves rows
and counts; every decision is made in Rust (``hapax_dedup::distributed``).
"""

from __future__ import annotations

import json
import os
from typing import Any, Optional

from . import steps
from .components import components
from .snapshot import Snapshot, Store, table_at
from ..errors import DuplicateIdError, JobError, NoDocumentsError

#: Up to so many edges of the forest the driver finds the components.
EDGES_ON_DRIVER = 20_000_000
#: Up to so many bytes of inputs, one task decides.
SMALL_BYTES = 64 << 20
#: Bytes of inputs that are worth a task of every stage.
TASK_BYTES = 16 << 20


class Inputs:
    """What is read: files that all machines see under one path, or files elsewhere that are fetched one by one."""

    def __init__(self, spark: Any, spec: steps.Spec, sources: list[str]) -> None:
        store = Store(spark)
        local = [steps.local_path(source) for source in sources]
        if all(path is not None for path in local):
            self.inputs = [path for path in local if path is not None]
            parts = spec.engine().parts(self.inputs)
            self.items = [(part, files[0], False) for part, files in enumerate(parts)]
            self.files = sum(len(files) for files in parts)
            #: Bytes of all files; those of a large corpus where they are not known.
            self.size = sum(os.path.getsize(file) for files in parts for file in files)
        else:
            self.inputs = []
            named = [file for source in sources for file in files_of(store, spec, source)]
            self.items = [(part, file, True) for part, (file, _) in enumerate(named)]
            self.files, self.size = len(named), sum(size for _, size in named)
            if any(steps.reads_itself(source) for source in sources):
                self.size = max(self.size, SMALL_BYTES + 1)
        if not self.items:
            raise NoDocumentsError("there is no document in " + ", ".join(sources))

    def rows(self, spark: Any, partitions: int) -> Any:
        """Work items, spread over tasks."""
        made = spark.createDataFrame(self.items, "part long, file string, fetch boolean")
        return spread(made, min(partitions * 4, len(self.items)), "part")


def files_of(store: Store, spec: steps.Spec, source: str) -> list[tuple[str, int]]:
    """The files that a source elsewhere stands for, in order, and their sizes in bytes; a task's share where the engine lists them."""
    if steps.reads_itself(source):
        return [(file, TASK_BYTES) for files in spec.engine().parts([source]) for file in files]
    return store.files_below(source)


class Job:
    """Spark, the engine's options, and the snapshot that is made."""

    def __init__(self, spark: Any, spec: steps.Spec, snapshot: Snapshot, partitions: int, edges_on_driver: int) -> None:
        self.spark, self.spec, self.snapshot = spark, spec, snapshot
        self.partitions, self.edges_on_driver = partitions, edges_on_driver
        #: What stages counted, for the summary.
        self.effort: dict[str, Any] = {}
        #: Parts of earlier snapshots, which come before those of this one.
        self.first_part = 0
        #: What pages say beyond the frames of their hosts, by position; None where no frame is known.
        self.owns: Any = None
        self.framed_hosts = 0

    def step(self, rows: Any, name: str, schema: str, *arguments: Any) -> Any:
        """A step of the engine on whole partitions."""
        return rows.mapInArrow(steps.whole(self.spec, name, *arguments), schema)

    def pages(self, inputs: Inputs, first: int) -> "Read":
        """The documents, numbered from ``first``, and what was counted while they were read."""
        run = steps.signature(self.spec, inputs.inputs, inputs.files)
        rows = self.snapshot.stage("signatures", lambda: inputs.rows(self.spark, self.partitions).mapInArrow(run, steps.SIGNATURES))
        counts = {row["part"]: json.loads(row["says"]) for row in rows.where("kind = 3").select("part", "says").collect()}
        lost = [file for part, file, _ in inputs.items if part not in counts]
        if lost:
            raise JobError(f"{lost[0]} was not read to its end; run the job again")
        names = [name for name in next(iter(counts.values())) if name != "complaints"]
        sums = {name: sum(one[name] for one in counts.values()) for name in names}
        offsets, position = [], first
        for part in sorted(counts):
            offsets.append((part, position))
            position += counts[part]["documents"]
        if not sums["documents"]:
            raise NoDocumentsError("there is no document in " + ", ".join(inputs.inputs or [file for _, file, _ in inputs.items]))
        documents = {part: one["documents"] for part, one in counts.items()}
        stored = {"path": self.snapshot.at("state/signatures"), "offsets": offsets, "first_part": self.first_part}
        return Read(numbered(self.spark, [stored]), sums, documents, stored)

    def names(self, pages: Any) -> Any:
        """Ids, addresses and contents in clear."""
        run = steps.each(self.spec, "names")
        return self.snapshot.stage("names", lambda: with_mark(pages, None).mapInArrow(run, steps.NAMES))

    def named(self, pages: Any, names: Any, sums: dict[str, int]) -> Any:
        """Positions of documents that others name as canonical; None of none. And one id, one content."""
        if sums["own_ids"]:
            from pyspark.sql import functions as F

            by_id = names.where("own_id is not null").groupBy("own_id")
            twice = by_id.agg(F.min("content").alias("one"), F.max("content").alias("other")).where("one <> other").first()
            if twice is not None:
                raise DuplicateIdError(
                    f"two documents have the id {twice['own_id']!r} and different contents; name another field as the id, "
                    "or none to have files and lines as ids"
                )
        if not sums["named"]:
            return None
        said = pages.where("says is not null").selectExpr("says as address").distinct()
        return self.snapshot.stage("named", lambda: names.join(said, "address").select("position").distinct())

    def copies(self, pages: Any, named: Any, name: str = "copies") -> Any:
        """Roles after exact copies and equal fingerprints, and what comparing needs of representatives."""
        rows = self.with_own(with_mark(pages.where("bucket is not null").select("position", "bucket", "page"), named))
        rows = together(rows, self.partitions, "bucket")
        return self.snapshot.stage(name, lambda: self.step(rows, "copies", steps.COPIES))

    def passes(self, first: Any, pages: Any, named: Any) -> Any:
        """What the passes, in which dense clusters are thinned out, add to roles; None where there is no dense cluster. ``first`` are
        the representatives so far."""
        from pyspark.sql import functions as F

        core = self.spec.engine()
        representatives = first.select("position", "scope", "sketch", "own")
        large = first.groupBy("scope").count().where(f"count > {core.MANY}").collect()
        wide = sorted((row["scope"], core.part_bits(row["count"])) for row in large)
        buckets = self.step(representatives, "bucket_sizes", steps.BUCKETS, wide).groupBy("bucket").agg(F.sum("count").alias("count"))
        buckets = buckets.where(f"count >= {core.DENSE}").select("bucket")
        dense = sorted(row["bucket"] for row in buckets.collect())
        self.effort["dense_keys"] = len(dense)
        if not dense:
            return None

        def thinned() -> Any:
            suspects = representatives.mapInArrow(steps.each(self.spec, "suspects", dense, wide), steps.SUSPECTS)
            rows = self.with_own(with_mark(suspects.join(pages.select("position", "page"), "position"), named)).selectExpr(
                "0L as role", "position", "cast(null as long) as target", "cast(null as long) as distance",
                "cast(null as float) as similarity", "named", "page", "own", "bucket",
            )
            for number in range(core.PASSES):
                rows = self.step(together(rows, self.partitions, "bucket"), "thin", steps.ROLES, number, wide)
            return rows.where("role <> 0").select(*SLIM)

        return self.snapshot.stage("passes", thinned)

    def apply_thinning(self, copies: Any, thinned: Any) -> tuple[Any, Any]:
        """All roles but representatives', and the representatives that are compared."""
        roles = copies.where("role <> 0").select(*SLIM)
        representatives = representatives_of(copies)
        if thinned is None:
            return roles, representatives
        return roles.union(thinned), representatives.join(thinned.where("role = 2").select("position"), "position", "anti")

    def saturation(self, representatives: Any) -> dict[int, tuple[str, Optional[float], list[int]]]:
        """Scopes in which fingerprints propose too much, and what to do there."""
        from pyspark.sql import functions as F

        core = self.spec.engine()
        big = representatives.groupBy("scope").count().where(f"count >= {core.FEW}").collect()
        sizes = {row["scope"]: row["count"] for row in big}
        if not sizes:
            return {}
        some = representatives.where(F.col("scope").isin(list(sizes)))
        samples = self.step(some.select("scope", "fingerprint"), "saturation_sample", steps.SAMPLE).toArrow()
        sample = core.saturation_sample(samples.combine_chunks().to_batches()[0])
        counts = some.select("scope", "fingerprint").mapInArrow(steps.whole(self.spec, "saturation_count", steps.stream_bytes(sample)), steps.COUNTS)
        sums = counts.groupBy("scope", "query", "distance").agg(F.sum("count").alias("count")).collect()
        by_scope: dict[int, list[int]] = {}
        for scope, fingerprint in zip(sample.column("scope").to_pylist(), sample.column("fingerprint").to_pylist()):
            by_scope.setdefault(scope, []).append(fingerprint)
        within = json.loads(core.settings())["within"]
        table = {scope: [[0] * (within + 1) for _ in chosen] for scope, chosen in by_scope.items()}
        for row in sums:
            table[row["scope"]][row["query"]][row["distance"]] = row["count"]
        seen = {scope: core.see(by_scope[scope], table[scope], sizes[scope]) for scope in by_scope}
        return {scope: verdict for scope, verdict in seen.items() if verdict[0] != "clear"}

    def candidates(self, representatives: Any) -> Any:
        """Pairs that fingerprints or sketches propose."""
        from pyspark.sql import functions as F

        saturated = self.saturation(representatives)
        by_bands = [scope for scope, seen in saturated.items() if seen[0] == "bands"]
        narrow = {scope: seen for scope, seen in saturated.items() if seen[0] == "narrow"}
        clear = representatives.where(~F.col("scope").isin(list(saturated))) if saturated else representatives
        self.effort.update(saturated=0, saturated_within=None, saturated_chance=None)

        def proposed() -> Any:
            found = self.join(clear, None)
            if by_bands:
                rows = representatives.where(F.col("scope").isin(by_bands)).select("position", "scope", "sketch", "own")
                found = found.union(self.bands(rows))
            for scope, (_, bits, dense) in narrow.items():
                rows = representatives.where(F.col("scope") == scope)
                marks = rows.mapInArrow(steps.each(self.spec, "saturated", dense), steps.SATURATED)
                free = rows.join(marks.where("not saturated"), "position")
                found = found.union(self.join(free, None)).union(self.join(rows, int(bits or 0)))
            return found

        if by_bands:
            self.effort["saturated"] += representatives.where(F.col("scope").isin(by_bands)).count()
            self.effort["saturated_chance"] = max(saturated[scope][1] or 0 for scope in by_bands)
        for scope, (_, bits, dense) in narrow.items():
            rows = representatives.where(F.col("scope") == scope)
            marks = rows.mapInArrow(steps.each(self.spec, "saturated", dense), steps.SATURATED)
            self.effort["saturated"] += marks.where("saturated").count()
            least = self.effort["saturated_within"]
            self.effort["saturated_within"] = int(bits or 0) if least is None else min(least, int(bits or 0))
        return self.snapshot.stage("candidates", proposed)

    def join(self, representatives: Any, within: Optional[int]) -> Any:
        """Pairs within a bound, by keys."""
        rows = representatives.count()
        cut = self.spec.engine().cut((max(rows, 1), self.partitions * 4, None, within, None))
        keys = self.step(representatives.select("position", "scope", "fingerprint"), "keys", steps.KEYS, cut, self.partitions)
        return self.step(spread(keys, self.partitions, "task"), "candidates", steps.CANDIDATES, cut)

    def bands(self, representatives: Any) -> Any:
        """Pairs that agree in a band of their sketches."""
        keys = self.step(representatives, "band_keys", steps.KEYS, self.partitions)
        return self.step(spread(keys, self.partitions, "task"), "band_candidates", steps.CANDIDATES)

    def pairs(self, candidates: Any, representatives: Any, name: str = "pairs") -> Any:
        """Candidates that are near, and whether they are alike."""

        def side(name: str) -> Any:
            return representatives.selectExpr(f"position as {name}", *(f"{column} as {column}_{name}" for column in ("fingerprint", "sketch", "keyed", "own")))

        proposed = candidates.where("distance >= 0").select("a", "b").distinct()
        both = proposed.join(side("a"), "a").join(side("b"), "b")
        run = steps.each(self.spec, "confirm")
        return self.snapshot.stage(name, lambda: both.mapInArrow(run, steps.PAIRS))

    def edges(self, pairs: Any, roles: Any) -> Any:
        """Whatever connects two documents."""
        return pairs.where("alike").select("a", "b").union(roles.where("role in (1, 2, 3)").selectExpr("target as a", "position as b"))

    def resolve(self, pages: Any, named: Any, pairs: Any, roles: Any, linked: Any, name: str = "verdicts") -> Any:
        """Verdicts on everybody in linked."""
        nothing = "cast(null as long) as other, cast(null as long) as distance, cast(null as float) as similarity"
        documents = with_mark(pages.select("position", "page").join(linked.selectExpr("node as position", "component"), "position"), named)
        documents = self.with_own(documents).selectExpr("component", "0L as kind", "position", *nothing.split(", "), "named", "page", "own")
        no_page = ("cast(null as boolean) as named", "cast(null as binary) as page", "cast(null as binary) as own")
        ends = linked.selectExpr("node as a", "component")
        alike = pairs.where("alike").join(ends, "a").selectExpr(
            "component", "1L as kind", "a as position", "b as other", "distance", "similarity", *no_page
        )
        members = roles.where("role in (2, 3)").join(linked.selectExpr("node as position", "component"), "position").selectExpr(
            "component", "role as kind", "position", "target as other", "distance", "similarity", *no_page
        )
        rows = together(documents.union(alike).union(members), self.partitions, "component")
        return self.snapshot.stage(name, lambda: self.step(rows, "resolve", steps.VERDICTS))

    def compare_beyond(self, frames: Any) -> None:
        """From here on, pages of one host are compared by what they say beyond its frame, too, if any is known."""
        if frames is not None and frames.hosts:
            self.owns, self.framed_hosts = frames.owns.select("position", "own"), frames.hosts

    def with_own(self, rows: Any) -> Any:
        """Rows with what their pages say beyond the frames of their hosts; null where that is not known."""
        from pyspark.sql import functions as F

        if self.owns is None:
            return rows.withColumn("own", F.lit(None).cast("binary"))
        return rows.join(self.owns, "position", "left")

    def components(self, edges: Any, name: str = "components") -> Any:
        """The component of every document in linked."""
        return components(self.spark, self.spec, edges, self.snapshot, self.edges_on_driver, self.partitions, name)


class Read:
    """What was read: pages, sums, documents of every part, and how to find it all again."""

    def __init__(self, pages: Any, sums: dict[str, int], documents: dict[int, int], stored: dict[str, Any]) -> None:
        self.pages, self.sums, self.documents, self.stored = pages, sums, documents, stored


def numbered(spark: Any, stored: list[dict[str, Any]]) -> Any:
    """Documents of one snapshot after the other, with their positions in the corpus."""
    from pyspark.sql import functions as F

    found = None
    for one in stored:
        offsets = spark.createDataFrame([tuple(pair) for pair in one["offsets"]], "part long, offset long")
        rows = table_at(spark, one["path"], schema=steps.SIGNATURES).where("kind = 0").join(F.broadcast(offsets), "part")
        rows = rows.selectExpr("offset + number as position", "part", "number", "file", "record", "bucket", "status", "says", "page")
        found = rows if found is None else found.union(rows)
    return found


def facts_of(spark: Any, stored: list[dict[str, Any]]) -> Any:
    """What archives say about addresses, in the order of the corpus."""
    from pyspark.sql import functions as F

    found = None
    for one in stored:
        rows_of_one = table_at(spark, one["path"], schema=steps.SIGNATURES).where("kind in (1, 2)").select(
            (F.col("part") + one["first_part"]).alias("part"), "number", "file", "record", (F.col("kind") == 2).alias("revisit"),
            F.decode("page", "UTF-8").alias("source"), F.col("says").alias("target"),
        )
        found = rows_of_one if found is None else found.union(rows_of_one)
    return found


def passed_of(spark: Any, stored: list[dict[str, Any]]) -> Any:
    """Records that were passed over, each with the number of documents before it, in the order of the corpus."""
    from pyspark.sql import functions as F

    found = None
    for one in stored:
        offsets = spark.createDataFrame([tuple(pair) for pair in one["offsets"]], "part long, offset long")
        rows = table_at(spark, one["path"], schema=steps.SIGNATURES).where("kind = 4").join(F.broadcast(offsets), "part").select(
            (F.col("part") + one["first_part"]).alias("part"), "number", (F.col("offset") + F.col("status")).alias("position"),
            F.col("bucket").alias("fact"), F.decode("page", "UTF-8").alias("document"), F.col("says").alias("reason"), "file", "record",
        )
        found = rows if found is None else found.union(rows)
    return found


def needs_names(sums: dict[str, int]) -> bool:
    """Is anything compared by name?"""
    return bool(sums["named"] or sums["own_ids"] or sums["facts"])


#: Columns of roles that are kept.
SLIM = ("role", "position", "target", "distance", "similarity")


def representatives_of(copies: Any) -> Any:
    """What comparing needs of those that lead after exact copies and equal fingerprints."""
    return copies.where("role = 0").select("position", "scope", "fingerprint", "sketch", "keyed", "own")


def spread(rows: Any, tasks: int, key: str) -> Any:
    """Rows by a number from 0, so that each number has a task of its own where Spark can do that."""
    if tasks == 1:
        return rows.coalesce(1)
    if hasattr(rows, "repartitionById"):
        return rows.repartitionById(tasks, rows[key].cast("int") % tasks)
    return rows.repartition(tasks, key)


def together(rows: Any, tasks: int, *keys: str) -> Any:
    """Rows of one key in one task."""
    return rows.coalesce(1) if tasks == 1 else rows.repartition(tasks, *keys)


def with_mark(pages: Any, named: Any) -> Any:
    """Pages, and whether others name them as canonical."""
    from pyspark.sql import functions as F

    if named is None:
        return pages.withColumn("named", F.lit(False))
    marked = named.select("position", F.lit(True).alias("mark"))
    return pages.join(marked, "position", "left").withColumn("named", F.coalesce("mark", F.lit(False))).drop("mark")
