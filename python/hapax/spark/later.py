"""The next crawl: new documents against what is stored, with the answer of the whole job on all of them.

A snapshot keeps pages, roles, representatives, confirmed pairs, components and verdicts. New documents come behind the old
ones in the corpus, so old positions stay. Then

- frames are learned again for hosts with new documents; an old document whose own text is another one now counts as
  changed;
- exact copies and equal fingerprints are looked at again only where a new or changed document is (or a new one names an
  old one as canonical);
- dense clusters are thinned out again, where there are dense clusters;
- *new representatives*, and changed ones, are matched with stored representatives where those lie, and with each other by keys; stored pairs stay,
  except those of representatives that lead no more;
- a component is *touched* if any of its documents, roles or pairs is not what it was: only touched ones are
  resolved again, all other verdicts stay.

Where fingerprints propose too much (*saturation*), all candidates are looked for again: what is proposed there depends
on all documents. The rows are those of the whole job on old and new together; a test says so.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Iterable, Optional

from . import frames as frame_steps, outputs, report, steps
from .batch import (
    Finished, Path, Source, changed, check_executors, digest_of, finish, make_spec, name_sources, session, spread_over, stage_rows,
)
from .job import EDGES_ON_DRIVER, SLIM, Inputs, Job, facts_of, representatives_of, needs_names, numbered, passed_of
from .snapshot import Snapshot, check_comparable, plain_errors, table_at
from .._hapax import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: More new representatives than this are not sent to every task: all candidates are looked for again.
MOST_NEW = 8_000_000


@plain_errors()
def increment(
    source: Source,
    out: Path,
    *,
    base: str,
    snapshot: str,
    spark: Optional["SparkSession"] = None,
    recipe: Optional[str] = None,
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
    """Makes ``out/snapshots/SNAPSHOT`` of the complete snapshot ``base`` and new documents.

    Without ``recipe`` and other options the new documents are read and compared as the stored ones were; what is given
    must be the same. The tables hold all documents, old and new; ``kept`` holds those of the new documents that stay,
    and ``changed.parquet`` the old ones of which something has changed, as they are now.
    """
    options = changed(
        within=within, min_similarity=min_similarity, keep=keep, scope=scope, frames=frames, languages=list(languages), format=format,
        skip_bad=skip_bad, error_pages=error_pages, input_format=input_format, id_field=id_field, url_field=url_field,
        html_field=html_field, text_field=text_field, score_field=score_field, fetched_field=fetched_field,
        language_field=language_field,
    )
    spark = session(spark)
    before = Snapshot(spark, os.fspath(out), base)
    metadata = before.complete()
    spec = steps.Spec(*json.loads(metadata["spec"]))
    if recipe is not None or options or frequencies is not None or main_content:
        spec = make_spec(recipe or "web-2", frequencies, main_content, options).with_key(spec.key)
        check_comparable(metadata["settings"], json.loads(spec.engine().settings()), before.path)
    made = Snapshot(spark, os.fspath(out), snapshot)
    sources, staged = name_sources(source, options)
    asked = {"inputs": sources, "spec": spec.text, "version": __version__, "keep_documents": keep_documents, "base": metadata["digest"]}
    if staged is not None:
        asked["rows"] = digest_of(staged)
    done = made.begin(asked)
    if done is not None:
        return Finished(spark, made, done)
    check_executors(spark)
    if staged is not None:
        sources = [stage_rows(made, staged, options)]
    inputs = Inputs(spark, spec, sources)
    with spread_over(spark, partitions, inputs.size + metadata["sums"]["body_bytes"]) as tasks:
        job = Job(spark, spec, made, tasks, edges_on_driver)
        return Next(job, before, metadata).run(inputs, asked, keep_documents, format)


class Next:
    """What is stored, and what is new."""

    def __init__(self, job: Job, before: Snapshot, metadata: dict[str, Any]) -> None:
        self.job, self.made, self.before, self.metadata = job, job.snapshot, before, metadata
        self.spark, self.stored = job.spark, metadata["stored"]
        job.first_part = self.stored["parts"]

    def run(self, inputs: Inputs, asked: dict[str, Any], keep_documents: bool, format: Optional[str]) -> Finished:
        job, made, before, stored = self.job, self.made, self.before, self.stored
        first = self.metadata["sums"]["documents"]
        read = job.pages(inputs, first)
        new, new_sums = read.pages, read.sums
        sums = {name: self.metadata["sums"][name] + count for name, count in new_sums.items()}
        all_read = [*stored["read"], read.stored]
        pages = numbered(self.spark, all_read)
        names, names_paths = self.names(new, pages, sums)
        named = job.named(pages, names, sums)

        frames, differ = self.frames(read.stored, all_read)
        job.compare_beyond(frames)

        touched = self.touched(new, pages, named, differ)
        again = job.copies(touched, named, "copies_again")
        old_copies = as_now(before.table("copies"), again).where("role <> 9")
        places = touched.select("position")
        copies = made.stage("copies", lambda: old_copies.join(places, "position", "anti").select(*again.columns).union(again))
        thinned = job.passes(representatives_of(copies), pages, named)
        roles, representatives = job.apply_thinning(copies, thinned)
        old_thinned = before.table("passes") if stored["passes"] else None
        old_representatives = job.apply_thinning(old_copies, old_thinned)[1]
        same = old_representatives.select("position").join(differ, "position", "anti")
        added = made.stage("added", lambda: representatives.join(same, "position", "anti"))
        same = representatives.select("position").join(differ, "position", "anti")
        gone = made.stage("gone", lambda: old_representatives.join(same, "position", "anti").select("position"))

        candidates, pairs, ends = self.pairs(representatives, added, gone)
        moved = made.stage("moved", lambda: self.moved(new, differ, touched, added, gone, ends, thinned, old_thinned))
        here = moved.selectExpr("position as a")
        some_pairs = pairs.join(here, "a", "semi")
        some_roles = roles.join(moved, "position", "semi")
        linked = job.components(job.edges(some_pairs, some_roles), "components_again")
        resolved = job.resolve(pages, named, some_pairs, some_roles, linked, "verdicts_again")
        nodes = moved.selectExpr("position as node")
        made.stage("components", lambda: before.table("components").join(nodes, "node", "anti").union(linked))
        old_verdicts = as_now(before.table("verdicts"), resolved).where("outcome <> 'effort'").join(moved, "position", "anti")
        verdicts = made.stage("verdicts", lambda: old_verdicts.select(*resolved.columns).union(resolved))
        groups = self.groups(pages, verdicts, moved)

        leading = None
        if sums["facts"]:
            leading = made.stage("addresses", lambda: outputs.addresses(facts_of(self.spark, all_read), names))
        passed = outputs.passed_rows(passed_of(self.spark, all_read), leading)
        outputs.write_tables(job, groups, leading, passed, sums["documents"])
        changed = groups.where(f"position < {first}").select(*outputs.COLUMNS)
        made.output("changed.parquet", lambda: changed.exceptAll(as_now(before.table("groups"), groups).select(*outputs.COLUMNS)))
        ending = outputs.kept_ending(format, new_sums, inputs)
        if keep_documents:
            outputs.write_kept(job, inputs, read, groups, ending)
        outputs.write_signatures(job, pages, groups, sums["documents"])
        tables = {"pages": pages, "roles": roles, "verdicts": verdicts, "candidates": candidates}
        said = {"kept": f"kept/part-*.{ending}", "inputs": asked["inputs"], "against": [before.path]}
        summary = outputs.summary(job, sums, groups, leading, tables, said)
        report.write(job, summary, groups, pairs, report.Texts(inputs, read, first), passed, (frames, all_read))
        job.effort["moved"], job.effort["added"] = moved.count(), added.count()
        kept = {
            "read": all_read, "names": names_paths, "named": named is not None,
            "passes": thinned is not None, "parts": stored["parts"] + len(inputs.items),
        }
        return finish(job, summary, {"sums": sums, "settings": self.metadata["settings"], "spec": job.spec.text, "stored": kept})

    def names(self, new: Any, pages: Any, sums: dict[str, int]) -> tuple[Any, list[str]]:
        """Names of all documents, if they are needed; those of old ones are there, or made now."""
        if not needs_names(sums):
            return None, []
        paths = self.stored["names"]
        self.job.names(new if paths else pages)
        paths = [*paths, self.made.at("state/names")]
        return table_at(self.spark, *paths), paths

    def frames(self, new: dict[str, Any], all_read: list[dict[str, Any]]) -> tuple[Optional[frame_steps.Frames], Any]:
        """The frames of all hosts, and the positions of old documents whose own texts are not what they were."""
        job, made, before = self.job, self.made, self.before
        if not frame_steps.are_learned(job):
            return None, self.spark.createDataFrame([], "position long")
        hosts = made.stage("hosts_again", lambda: frame_steps.pieces_of(self.spark, [new]).select("host").distinct())
        rows = frame_steps.pieces_of(self.spark, all_read).join(hosts, "host", "semi")
        again = made.stage("frames_again", lambda: frame_steps.frames_of(job, rows))
        owns = made.stage("owns_again", lambda: frame_steps.owns_of(job, rows, again))
        old_frames, old_owns = before.table("frames"), before.table("owns")
        frames = made.stage("frames", lambda: old_frames.join(hosts, "host", "anti").select(*again.columns).union(again))
        all_owns = made.stage("owns", lambda: old_owns.join(hosts, "host", "anti").select(*owns.columns).union(owns))
        here = old_owns.join(hosts, "host", "semi").select(*owns.columns)
        first = self.metadata["sums"]["documents"]
        differ = owns.exceptAll(here).union(here.exceptAll(owns)).where(f"position < {first}").select("position").distinct()
        return frame_steps.Frames(frames, all_owns), made.stage("differ", lambda: differ)

    def touched(self, new: Any, pages: Any, named: Any, differ: Any) -> Any:
        """All documents that may match a new one, one that is newly named as canonical, or one whose own text is another now."""
        units = new.select("bucket").union(pages.select("position", "bucket").join(differ, "position", "semi").select("bucket"))
        if named is not None:
            newly = named
            if self.stored["named"]:
                newly = named.join(self.before.table("named"), "position", "anti")
            units = units.union(pages.select("position", "bucket").join(newly, "position").select("bucket"))
        units = units.where("bucket is not null").distinct()
        rows = pages.select("position", "bucket", "page")
        return self.made.stage("touched", lambda: rows.join(units, "bucket", "semi").select("position", "bucket", "page"))

    def pairs(self, representatives: Any, added: Any, gone: Any) -> tuple[Any, Any, Any]:
        """Candidates of this snapshot, all pairs, and the ends of pairs that are not what they were."""
        job, made = self.job, self.made
        old = self.before.table("pairs")
        new = added.select("position", "scope", "fingerprint")
        if added.count() > MOST_NEW or self.metadata["summary"]["saturated"] or job.saturation(representatives):
            candidates = job.candidates(representatives)
            pairs = job.pairs(candidates, representatives)
            one, other = pairs.where("alike"), old.where("alike")
            differ = one.exceptAll(other).union(other.exceptAll(one))
            return candidates, pairs, differ

        def proposed() -> Any:
            among = job.join(added, None)
            held = new.toArrow().combine_chunks().to_batches()
            if not held:
                return among
            before = representatives.join(new.select("position"), "position", "anti").select("position", "scope", "fingerprint")
            run = steps.whole(job.spec, "match_new", steps.stream_bytes(held[0]))
            return among.union(before.mapInArrow(run, steps.CANDIDATES))

        candidates = made.stage("candidates", proposed)
        fresh = job.pairs(candidates, representatives, "pairs_again")
        left = old.join(gone.selectExpr("position as a"), "a", "anti").join(gone.selectExpr("position as b"), "b", "anti")
        pairs = made.stage("pairs", lambda: left.select(*fresh.columns).union(fresh))
        return candidates, pairs, fresh.where("alike")

    def moved(self, new: Any, differ: Any, touched: Any, added: Any, gone: Any, ends: Any, thinned: Any, old_thinned: Any) -> Any:
        """Everybody in a component in which something is not what it was."""
        changed = new.select("position")
        for rows in (differ, touched, added, gone, ends.selectExpr("a as position"), ends.selectExpr("b as position")):
            changed = changed.union(rows.select("position"))
        if thinned is not None or old_thinned is not None:
            differ = self.differing(thinned, old_thinned)
            changed = changed.union(differ.select("position")).union(differ.selectExpr("target as position"))
        changed = changed.distinct()
        stored = self.before.table("components")
        hit = stored.join(changed.selectExpr("position as node"), "node").select("component").distinct()
        with_them = stored.join(hit, "component", "semi").selectExpr("node as position")
        return changed.union(with_them).distinct()

    def differing(self, thinned: Any, old_thinned: Any) -> Any:
        """Members that were led by another before, or by none, or are led no more."""
        both = [rows.where("role in (2, 3)").select(*SLIM) for rows in (thinned, old_thinned) if rows is not None]
        if len(both) == 1:
            return both[0]
        return both[0].exceptAll(both[1]).union(both[1].exceptAll(both[0]))

    def groups(self, pages: Any, verdicts: Any, moved: Any) -> Any:
        """Rows of all documents; only those in touched components are made again."""
        again = outputs.verdict_rows(self.job, pages.join(moved, "position", "semi"), verdicts)
        old = as_now(self.before.table("groups"), again).join(moved, "position", "anti").select(*again.columns)
        return self.made.stage("groups", lambda: old.union(again))


def as_now(stored: Any, made: Any) -> Any:
    """A table of an earlier version, with nulls for columns that it does not know."""
    from pyspark.sql import functions as F

    for field in made.schema:
        if field.name not in stored.columns:
            stored = stored.withColumn(field.name, F.lit(None).cast(field.dataType))
    return stored
