"""The job from beginning to end, as callers see it."""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Optional, Union

from . import outputs, report, steps
from .job import EDGES_ON_DRIVER, Inputs, Job, facts_of, representatives_of, needs_names, passed_of
from .snapshot import Snapshot, plain_errors
from .._hapax import __version__
from ..errors import ArgumentError, JobError

Source = Any

#: Options of the job that are options of ``hapax dedup``, with what stands for its defaults.
OPTIONS: dict[str, Any] = {
    "within": None,
    "min_similarity": None,
    "keep": None,
    "scope": None,
    "languages": [],
    "format": None,
    "skip_bad": False,
    "error_pages": False,
    "input_format": None,
    "id_field": None,
    "url_field": None,
    "html_field": None,
    "text_field": None,
    "score_field": None,
    "fetched_field": None,
    "language_field": None,
}
#: Options of one machine that mean nothing here.
ELSEWHERE = {"verify": False, "frames": "off", "revisits": False, "against": [], "memory": None, "restart": False, "threads": 1}


class Finished:
    """A complete snapshot."""

    def __init__(self, spark: Any, snapshot: Snapshot, metadata: dict[str, Any]) -> None:
        self._spark, self._snapshot = spark, snapshot
        #: Where it lies.
        self.path: str = snapshot.path
        #: ``summary.json``.
        self.summary: dict[str, Any] = metadata["summary"]
        #: What the stages counted: keys, buckets keyed again, partitions.
        self.effort: dict[str, Any] = metadata["effort"]

    @property
    def groups(self) -> Any:
        """Every document, its group, its winner, and what decided; a DataFrame."""
        return self._spark.read.parquet(self._snapshot.at("groups.parquet"))

    @property
    def removed(self) -> Any:
        """The same for documents that go."""
        return self._spark.read.parquet(self._snapshot.at("removed.parquet"))

    def __repr__(self) -> str:
        s = self.summary
        return f"Finished({s['documents']} documents, {s['kept']} kept, {s['exact']} exact and {s['near']} near duplicates in {s['groups']} groups: {self.path})"


def dedup(
    source: Source,
    out: Union[str, "os.PathLike[str]"],
    *,
    spark: Any = None,
    snapshot: str = "0",
    recipe: str = "web-2",
    frequencies: Optional[str] = None,
    main_content: bool = False,
    partitions: Optional[int] = None,
    edges_on_driver: int = EDGES_ON_DRIVER,
    keep_documents: bool = True,
    **options: Any,
) -> Finished:
    """Cleans a corpus into ``out/snapshots/ID``: exact and near duplicates go, the best copy of each stays.

    ``source`` is a file, folder or glob, or a list of them (WARC, WET, ARC, JSONL, Parquet, HTML, text; packed or
    not), which all machines see under the same path, or of an object store; or a DataFrame, which is first written
    to the snapshot in the order of its ids. ``options`` are those of :func:`hapax.dedup` that say how documents are
    read and compared. ``partitions`` is into how many tasks rows are spread. Without ``keep_documents`` the kept
    documents are not written again.

    A snapshot that is complete is not made again; one that is not is gone on with.
    """
    spark = session(spark)
    spec = make_spec(recipe, frequencies, main_content, options)
    made = Snapshot(spark, os.fspath(out), snapshot)
    sources, staged = name_sources(source, options)
    settings = json.loads(spec.engine().settings())
    asked = {"inputs": sources, "settings": settings, "spec": spec.text, "version": __version__, "keep_documents": keep_documents, "base": None}
    if staged is not None:
        asked["rows"] = digest_of(staged)
    metadata = made.begin(asked)
    if metadata is not None:
        return Finished(spark, made, metadata)
    with plain_errors():
        check_executors(spark)
        if staged is not None:
            sources = [stage_rows(made, staged, options)]
        spec = spec.with_key(made.key())
        job = Job(spark, spec, made, partitions_of(spark, partitions), edges_on_driver)
        return whole(job, Inputs(spark, spec, sources), asked, options.get("format"))


def whole(job: Job, inputs: Inputs, asked: dict[str, Any], format: Optional[str]) -> Finished:
    """All stages, one after the other."""
    made = job.snapshot
    read = job.pages(inputs, 0)
    pages, sums = read.pages, read.sums
    names = job.names(pages) if needs_names(sums) else None
    named = job.named(pages, names, sums)
    copies = job.copies(pages, named)
    roles, representatives = job.apply_thinning(copies, job.passes(representatives_of(copies), pages, named))
    candidates = job.candidates(representatives)
    pairs = job.pairs(candidates, representatives)
    linked = job.components(job.edges(pairs, roles))
    verdicts = job.resolve(pages, named, pairs, roles, linked)
    groups = made.stage("groups", lambda: outputs.verdict_rows(job, pages, verdicts))
    leading = None
    if sums["facts"]:
        leading = made.stage("addresses", lambda: outputs.addresses(facts_of(job.spark, [read.stored]), names))
    passed = outputs.passed_rows(passed_of(job.spark, [read.stored]), leading)
    outputs.write_tables(job, groups, leading, passed, sums["documents"])
    ending = outputs.kept_ending(format, sums, inputs)
    if asked["keep_documents"]:
        outputs.write_kept(job, inputs, read, groups, ending)
    outputs.write_signatures(job, pages, groups, sums["documents"])
    tables = {"pages": pages, "roles": roles, "verdicts": verdicts, "candidates": candidates}
    said = {"kept": f"kept/part-*.{ending}", "inputs": asked["inputs"], "against": []}
    summary = outputs.summary(job, sums, groups, leading, tables, said)
    report.write(job, summary, groups, pairs, report.Texts(inputs, read), passed)
    stored = {
        "read": [read.stored],
        "names": [made.at("state/names")] if names is not None else [],
        "named": named is not None,
        "passes": job.effort["dense_keys"] > 0,
        "parts": len(inputs.items),
    }
    return finish(job, summary, {"sums": sums, "settings": asked["settings"], "spec": job.spec.text, "stored": stored})


def finish(job: Job, summary: dict[str, Any], more: dict[str, Any]) -> Finished:
    """Publishes the snapshot."""
    made = job.snapshot
    made.store.write(made.at("summary.json"), (json.dumps(summary, indent=2) + "\n").encode())
    effort = {**job.effort, "partitions": job.partitions, "seconds": made.seconds}
    return Finished(job.spark, made, made.finish({"summary": summary, "effort": effort, **more}))


def session(spark: Any) -> Any:
    """The session that was given, or the one that is active."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ImportError("a job on Spark needs pyspark 4, pyarrow and Java 17: pip install 'hapax[spark]'") from error
    return spark if spark is not None else SparkSession.builder.getOrCreate()


def make_spec(recipe: str, frequencies: Optional[str], main_content: bool, options: dict[str, Any]) -> steps.Spec:
    """The options of a job, checked before anything is read."""
    for name in options:
        if name not in OPTIONS:
            known = ", ".join(OPTIONS)
            raise ArgumentError(f"there is no option {name!r} for a job on Spark; there are {known}")
    given = {**OPTIONS, **options, **ELSEWHERE}
    given["languages"] = list(given["languages"])
    spec = steps.Spec(str(recipe), None if frequencies is None else str(frequencies), main_content, given)
    spec.engine()
    return spec


def partitions_of(spark: Any, asked: Optional[int]) -> int:
    """Into how many tasks rows are spread."""
    if asked is not None:
        if asked < 1:
            raise ArgumentError(f"partitions={asked}: at least 1")
        return asked
    return int(spark.conf.get("spark.sql.shuffle.partitions", "200"))


def name_sources(source: Source, options: dict[str, Any]) -> tuple[list[str], Any]:
    """Inputs by name, or a DataFrame that is yet to be written."""
    if isinstance(source, (str, os.PathLike)):
        return [os.fspath(source)], None
    if hasattr(source, "rdd") or hasattr(source, "toArrow"):
        check_columns(source, options)
        return ["DataFrame"], source
    named = [os.fspath(one) for one in source]
    if not named:
        raise ArgumentError("no input was named")
    return named, None


#: Columns by which documents are known and read when none is named; as for files.
IDS = ("id", "_id", "doc_id", "docid", "document_id", "uuid", "url", "uri", "source_url", "target_uri", "link")
BODIES = ("html", "raw_html", "page_html", "text", "content", "raw_content", "body")


def check_columns(rows: Any, options: dict[str, Any]) -> None:
    """A DataFrame must have ids of its own: rows have no place that a retry could find again."""
    there = rows.columns
    for what in ("id_field", "url_field", "html_field", "text_field", "score_field", "fetched_field", "language_field"):
        if options.get(what) is not None and options[what] not in there:
            raise ArgumentError(f"no column {options[what]!r} for {what}; there are {', '.join(there)}")
    if not (options.get("html_field") or options.get("text_field") or any(name in there for name in BODIES)):
        raise ArgumentError(f"which column holds the documents? text_field= or html_field= one of {', '.join(there)}")
    if id_column(rows, options) is None:
        raise ArgumentError(f"which column names the documents? id_field= or url_field= one of {', '.join(there)}")


def id_column(rows: Any, options: dict[str, Any]) -> Optional[str]:
    for wanted in (options.get("id_field"), options.get("url_field"), *IDS):
        if wanted is not None and wanted in rows.columns:
            return str(wanted)
    return None


def digest_of(rows: Any) -> str:
    """What a DataFrame holds, in any order: another one under the name of an old snapshot must be noticed."""
    from pyspark.sql import functions as F

    columns = [F.col(name).cast("string") for name in rows.columns]
    counted = rows.agg(F.count("*").alias("rows"), F.sum(F.xxhash64(*columns) % (1 << 31)).alias("sum")).first()
    return f"{counted['rows']} rows, {counted['sum'] or 0}"


def stage_rows(made: Snapshot, rows: Any, options: dict[str, Any]) -> str:
    """Writes a DataFrame in the order of its ids, so that every reading of it is the same."""
    from pyspark.sql import functions as F

    order = id_column(rows, options)
    columns = [F.col(name).cast("string") for name in rows.columns]
    made.stage("input", lambda: rows.orderBy(F.col(str(order)), F.xxhash64(*columns)))
    path = made.at("state/input")
    return f"{steps.local_path(path) or path}/*.parquet"


def check_executors(spark: Any) -> None:
    """Executors must have this very version of the package."""
    try:
        seen = spark.range(1).mapInArrow(steps.probe, "version string").first()["version"]
    except Exception as error:
        if "No module named" in str(error):
            raise JobError(
                "the executors cannot import hapax: ship the unpacked wheel with spark.archives and set PYTHONPATH, or "
                "install it on every machine; docs/how-to/spark.md has the lines"
            ) from error
        raise
    if seen != __version__:
        raise JobError(f"the executors have hapax {seen} and the driver has {__version__}; ship the same wheel to both")
