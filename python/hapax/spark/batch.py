"""The job from beginning to end, as callers see it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Optional, TypedDict, Union

from . import frames as frame_steps, outputs, report, steps
from .job import EDGES_ON_DRIVER, SMALL_BYTES, TASK_BYTES, Inputs, Job, facts_of, representatives_of, needs_names, passed_of
from .snapshot import SHUFFLES, Snapshot, plain_errors
from .._hapax import __version__
from ..errors import ArgumentError, JobError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Path = Union[str, "os.PathLike[str]"]
#: Files by name, or documents.
Source = Union[Path, Iterable[Path], "DataFrame"]


class JobOptions(TypedDict, total=False):
    """Options of :func:`dedup` that every batch of a stream is given."""

    recipe: str
    frequencies: Optional[str]
    main_content: bool
    partitions: Optional[int]
    edges_on_driver: int
    keep_documents: bool
    within: Optional[int]
    min_similarity: Optional[float]
    keep: Optional[str]
    scope: Optional[str]
    frames: Optional[str]
    languages: Iterable[str]
    id_field: Optional[str]
    url_field: Optional[str]
    html_field: Optional[str]
    text_field: Optional[str]
    score_field: Optional[str]
    fetched_field: Optional[str]
    language_field: Optional[str]


#: Options of the job that are options of ``hapax dedup``, with what stands for its defaults.
OPTIONS: dict[str, Any] = {
    "within": None,
    "min_similarity": None,
    "keep": None,
    "scope": None,
    "frames": None,
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
ELSEWHERE: dict[str, object] = {
    "verify": False, "key": None, "shard_size": None, "layout": None, "follow_links": False, "revisits": False, "against": [], "memory": None,
    "restart": False, "threads": 1,
}


#: For small inputs: what Spark plans again while a query runs, makes and compiles code for, and sends around costs more than their rows.
SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.disableHints": "true",
}


class Finished:
    """A complete snapshot."""

    def __init__(self, spark: "SparkSession", snapshot: Snapshot, metadata: dict[str, Any]) -> None:
        self._spark, self._snapshot = spark, snapshot
        #: Where it lies.
        self.path: str = snapshot.path
        #: ``summary.json``.
        self.summary: dict[str, Any] = metadata["summary"]
        #: What the stages counted: keys, buckets keyed again, partitions.
        self.effort: dict[str, Any] = metadata["effort"]

    @property
    def groups(self) -> "DataFrame":
        """Every document, its group, its winner, and what decided; a DataFrame."""
        return self._spark.read.parquet(self._snapshot.at("groups.parquet"))

    @property
    def removed(self) -> "DataFrame":
        """The same for documents that go."""
        return self._spark.read.parquet(self._snapshot.at("removed.parquet"))

    @property
    def kept(self) -> "DataFrame":
        """The documents that stay, a DataFrame with their own columns; of an increment, those of the new documents."""
        pattern = self.summary["settings"]["kept"]
        ending = pattern.partition("*.")[2]
        if not self._snapshot.store.exists(self._snapshot.at("state/written/_SUCCESS")):
            raise JobError("the job wrote no documents (keep_documents=False); join the inputs with groups instead", self.path)
        if ending != "parquet" and not ending.startswith("jsonl"):
            raise JobError(f"kept documents are in {pattern}, which Spark does not read; run the job with format='parquet'", self.path)
        reader = self._spark.read
        return (reader.parquet if ending == "parquet" else reader.json)(self._snapshot.at(pattern))

    def __repr__(self) -> str:
        s = self.summary
        return f"Finished({s['documents']} documents, {s['kept']} kept, {s['exact']} exact and {s['near']} near duplicates in {s['groups']} groups: {self.path})"


@plain_errors()
def dedup(
    source: Source,
    out: Path,
    *,
    spark: Optional["SparkSession"] = None,
    snapshot: str = "0",
    recipe: str = "web-2",
    frequencies: Optional[str] = None,
    main_content: bool = False,
    partitions: Optional[int] = None,
    edges_on_driver: int = EDGES_ON_DRIVER,
    keep_documents: bool = True,
    within: Optional[int] = None,
    min_similarity: Optional[float] = None,
    keep: Optional[str] = None,
    scope: Optional[str] = None,
    frames: Optional[str] = None,
    languages: Iterable[str] = (),
    format: Optional[str] = None,
    skip_bad: bool = False,
    error_pages: bool = False,
    input_format: Optional[str] = None,
    id_field: Optional[str] = None,
    url_field: Optional[str] = None,
    html_field: Optional[str] = None,
    text_field: Optional[str] = None,
    score_field: Optional[str] = None,
    fetched_field: Optional[str] = None,
    language_field: Optional[str] = None,
) -> Finished:
    """Cleans a corpus into ``out/snapshots/ID``: exact and near duplicates go, the best copy of each stays.

    ``source`` is a file, folder or glob, or a list of them (WARC, WET, ARC, JSONL, Parquet, HTML, text; packed or
    not), which all machines see under the same path, or of an object store; or a DataFrame, which is first written
    to the snapshot in the order of its ids. Options have the meaning they have in :func:`hapax.dedup`.
    ``partitions`` is into how many tasks rows are spread: by default one up to 64 MB of inputs; beyond that one for every 16 MB, at
    least one a core, at most ``spark.sql.shuffle.partitions``. Without ``keep_documents`` the kept documents are not written again.

    A snapshot that is complete is not made again; one that is not is gone on with.
    """
    options = changed(
        within=within, min_similarity=min_similarity, keep=keep, scope=scope, frames=frames, languages=list(languages), format=format,
        skip_bad=skip_bad, error_pages=error_pages, input_format=input_format, id_field=id_field, url_field=url_field,
        html_field=html_field, text_field=text_field, score_field=score_field, fetched_field=fetched_field,
        language_field=language_field,
    )
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
    check_executors(spark)
    if staged is not None:
        sources = [stage_rows(made, staged, options)]
    spec = spec.with_key(made.key())
    inputs = Inputs(spark, spec, sources)
    with spread_over(spark, partitions, inputs.size) as tasks:
        return whole(Job(spark, spec, made, tasks, edges_on_driver), inputs, asked, format)


def whole(job: Job, inputs: Inputs, asked: dict[str, Any], format: Optional[str]) -> Finished:
    """All stages, one after the other."""
    made = job.snapshot
    read = job.pages(inputs, 0)
    pages, sums = read.pages, read.sums
    names = job.names(pages) if needs_names(sums) else None
    named = job.named(pages, names, sums)
    frames = frame_steps.learned(job, [read.stored])
    job.compare_beyond(frames)
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
    report.write(job, summary, groups, pairs, report.Texts(inputs, read), passed, (frames, [read.stored]))
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


def session(spark: Optional["SparkSession"]) -> "SparkSession":
    """The session that was given, or the one that is active. On one machine, executors run the Python that asks."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ImportError("a job on Spark needs pyspark 4, pyarrow and Java 17: pip install 'hapax[spark]'") from error
    spark = spark if spark is not None else SparkSession.builder.getOrCreate()
    context = spark.sparkContext
    if context.master.startswith("local") and not (os.environ.get("PYSPARK_PYTHON") or context.getConf().contains("spark.pyspark.python")):
        context.pythonExec = sys.executable
    return spark


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


def changed(**options: Any) -> dict[str, Any]:
    """Options that are not left to their defaults."""
    return {name: value for name, value in options.items() if value != OPTIONS[name]}


@contextlib.contextmanager
def spread_over(spark: Any, asked: Optional[int], size: int) -> Iterator[int]:
    """Into how many tasks rows are spread, for inputs of so many bytes; Spark's own shuffles follow meanwhile."""
    if asked is not None and asked < 1:
        raise ArgumentError(f"partitions={asked}: at least 1")
    most = int(spark.conf.get(SHUFFLES, "200"))
    tasks = asked or (1 if size <= SMALL_BYTES else min(most, max(spark.sparkContext.defaultParallelism, -(-size // TASK_BYTES))))
    settings = {SHUFFLES: str(min(tasks, most)), **(SMALL if size <= SMALL_BYTES else {})}
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield tasks
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


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
        seen = spark.range(0, 1, 1, 1).mapInArrow(steps.probe, "version string").first()["version"]
    except Exception as error:
        if "No module named" in str(error):
            raise JobError(
                f"the executors' Python ({spark.sparkContext.pythonExec}) cannot import hapax: set PYSPARK_PYTHON to one that has it before "
                "the session is made, or ship the unpacked wheel with spark.archives and set PYTHONPATH; docs/how-to/spark.md has the lines"
            ) from None
        raise
    if seen != __version__:
        raise JobError(f"the executors have hapax {seen} and the driver has {__version__}; ship the same wheel to both")
