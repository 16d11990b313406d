"""Steps for datatrove pipelines: near-duplicates go, whichever task reads them.

Three pipelines, as for datatrove's own MinHash deduplication; the first and the third have as many tasks as you like, the
second has one::

    from hapax.datatrove import Apply, Decide, Fingerprint
    [JsonlReader("pages"), Fingerprint("work")]
    [Decide("work")]
    [JsonlReader("pages"), Apply("work"), JsonlWriter("kept")]

The folder is one that all tasks see. The same documents in the same order stay as with one :func:`hapax.dedup`, however many tasks
there are. :class:`Deduplicate` is a single step, for pipelines of one task, or of tasks that share a service. Documents
need ``text`` and ``id``; datatrove itself need not be installed. datatrove pickles its steps and writes them down beside the
logs, so a step holds neither token nor key.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from contextlib import ExitStack
from itertools import islice
from typing import Any, Iterable, Iterator, Optional

from . import _arrow
from ._hapax import SpoolCore, decide_shards, fingerprint_shard
from .client import Client
from .errors import ArgumentError, JobError
from .fingerprints import Fingerprinter
from .jobs import STANDARD
from .repository import Pages, Repository, page

__all__ = ["Apply", "Decide", "Deduplicate", "Fingerprint"]

#: Documents that are handed over at a time.
TOGETHER = 256
SIGNATURES, DECIDED, KEY = "signatures", "decided", "key"

try:
    from datatrove.pipeline.base import PipelineStep as _Step
except ImportError:

    class _Step:  # type: ignore[no-redef]
        """What a pipeline asks of a step, where datatrove is not installed."""

        name: str
        type: str

        def stat_update(self, *labels: str, value: int = 1, unit: Optional[str] = None) -> None:
            """Counts nothing."""

        def __call__(self, data: Any, rank: int = 0, world_size: int = 1) -> Any:
            """As datatrove calls a step."""
            return self.run(data, rank, world_size)  # type: ignore[attr-defined]


class Fingerprint(_Step):  # type: ignore[misc]
    """Writes the signatures of a task's documents to ``folder``; the end of the first pipeline.

    ``url_key`` names the address of a document in its metadata, where it has one. The other options are those of
    :func:`hapax.dedup`; :class:`Decide` must be given the same.
    """

    name = "🌿 hapax fingerprint"
    type = "🫂 - DEDUP"

    def __init__(
        self,
        folder: str,
        *,
        recipe: str = "web-2",
        frequencies: Optional[str] = None,
        main_content: bool = False,
        scope: Optional[str] = None,
        frames: Optional[str] = None,
        url_key: str = "url",
        threads: int = 1,
    ) -> None:
        super().__init__()
        self.folder, self.url_key = str(folder), url_key
        self.recipe = (recipe, frequencies, main_content)
        self.options = {**STANDARD, "scope": scope, "frames": frames, "threads": threads}

    def run(self, data: Optional[Iterable[Any]], rank: int = 0, world_size: int = 1) -> None:
        os.makedirs(self.folder, exist_ok=True)
        documents = iter(data or ())
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".documents-") as place:
            path = os.path.join(place, "documents.jsonl")
            spool = SpoolCore(path)
            while batch := list(islice(documents, TOGETHER)):
                columns: dict[str, list[Any]] = {"id": [], "text": [], "url": []}
                for document in batch:
                    self.stat_update("total")
                    columns["id"].append(str(document.id))
                    columns["text"].append(document.text)
                    columns["url"].append(document.metadata.get(self.url_key))
                spool.add(len(batch), columns)
            spool.finish()
            signatures = os.path.join(self.folder, SIGNATURES)
            by = Fingerprinter(self.recipe[0], frequencies=self.recipe[1], main_content=self.recipe[2])
            name = task_name(rank, world_size)
            fingerprint_shard(path, name, rank, world_size, key_of(self.folder), signatures, by._core, self.options)


class Decide(_Step):  # type: ignore[misc]
    """Decides which documents stay, from the signatures of all tasks; the second pipeline, of one task.

    ``folder/decided`` then has what ``hapax dedup --from-signatures`` writes. Options are those of :func:`hapax.dedup`; those that
    :class:`Fingerprint` has must be the same.
    """

    name = "🌿 hapax decide"
    type = "🫂 - DEDUP"

    def __init__(
        self,
        folder: str,
        *,
        recipe: str = "web-2",
        frequencies: Optional[str] = None,
        main_content: bool = False,
        scope: Optional[str] = None,
        frames: Optional[str] = None,
        within: Optional[int] = None,
        min_similarity: Optional[float] = None,
        keep: str = "first",
        memory: Optional[int] = None,
        threads: int = 0,
    ) -> None:
        super().__init__()
        self.folder = str(folder)
        self.recipe = (recipe, frequencies, main_content)
        self.options = {
            **STANDARD, "scope": scope, "frames": frames, "within": within, "min_similarity": min_similarity, "keep": keep,
            "memory": memory, "threads": threads,
        }  # fmt: skip

    def run(self, data: Optional[Iterable[Any]] = None, rank: int = 0, world_size: int = 1) -> None:
        if world_size != 1:
            raise ArgumentError(f"one task decides about all documents, and this pipeline has {world_size}: give it tasks=1")
        by = Fingerprinter(self.recipe[0], frequencies=self.recipe[1], main_content=self.recipe[2])
        signatures, decided = (os.path.join(self.folder, name) for name in (SIGNATURES, DECIDED))
        summary = json.loads(decide_shards(signatures, decided, by._core, self.options))
        for count in ("documents", "kept", "exact", "near"):
            self.stat_update(count, value=summary[count])


class Apply(_Step):  # type: ignore[misc]
    """Passes on the documents that stay; part of the third pipeline, whose reader and tasks are those of the first.

    ``metadata["hapax"]`` is ``kept``, ``exact`` or ``near``, and ``metadata["hapax_winner"]`` the id of the kept document
    instead. ``exclusion_writer`` gets what goes, as datatrove's filters have it. A document that was not decided about is an
    error. Needs pyarrow.
    """

    name = "🌿 hapax apply"
    type = "🫂 - DEDUP"

    def __init__(self, folder: str, *, exclusion_writer: Any = None) -> None:
        super().__init__()
        self.folder, self.exclusion_writer = str(folder), exclusion_writer

    def _rows(self, rank: int, world_size: int) -> Iterator[tuple[str, str, str]]:
        _arrow.pyarrow()
        from pyarrow import parquet

        name, decided = task_name(rank, world_size), os.path.join(self.folder, DECIDED, "groups.parquet")
        rows = parquet.read_table(decided, columns=["document", "outcome", "winner"], filters=[("file", "==", name)])
        columns = (rows[column].to_pylist() for column in rows.column_names)
        return ((document, outcome, winner) for document, outcome, winner in zip(*columns) if outcome != "passed_over")

    def run(self, data: Optional[Iterable[Any]], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        rows = self._rows(rank, world_size)
        with ExitStack() as open_now:
            excluded = self.exclusion_writer and open_now.enter_context(self.exclusion_writer)
            for document in data or ():
                self.stat_update("total")
                if document.text is None:
                    yield document
                    continue
                named, outcome, winner = next(rows, ("", "", ""))
                if named != str(document.id):
                    raise self._other(rank, world_size, f"{document.id!r} comes where {named or 'none'!r} was decided about")
                document.metadata["hapax"] = outcome
                if outcome == "kept":
                    self.stat_update("forwarded")
                    yield document
                    continue
                self.stat_update("dropped", outcome)
                document.metadata["hapax_winner"] = winner
                if excluded is not None:
                    excluded.write(document, rank)
        if left := next(rows, None):
            raise self._other(rank, world_size, f"{left[0]!r} was decided about and does not come")

    def _other(self, rank: int, world_size: int, what: str) -> JobError:
        hint = "use the reader and the number of tasks that Fingerprint had"
        return JobError(f"{task_name(rank, world_size)}: {what}; {hint}", self.folder)


def task_name(rank: int, world_size: int) -> str:
    """What tables call the documents of a task."""
    return f"task {rank} of {world_size}"


def key_of(folder: str) -> str:
    """The random key of a job, for sketches that show forged matches. Whichever task comes first makes it."""
    path = os.path.join(folder, KEY)
    if not os.path.exists(path):
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".key-") as made:
            made.write(secrets.token_hex(32))
            made.flush()
            try:
                os.link(made.name, path)
            except FileExistsError:
                pass
    with open(path) as file:
        return file.read()


class Deduplicate(_Step):  # type: ignore[misc]
    """Passes on what was not seen before; ``metadata["hapax"]`` has the verdict.

    ``where`` is a folder, for a pipeline of one task, or the address of a service, for any number of tasks. In a repository the first of its
    kind stays; a service has rules of its own, and a document that is better by them passes, too. ``verdicts`` are
    those that go. ``exclusion_writer`` gets what goes, as datatrove's filters have it. The token of a service is read where the step
    runs, from ``HAPAX_TOKEN`` or the environment variable named by ``token_variable``.
    """

    name = "🌿 hapax"
    type = "🫂 - DEDUP"

    def __init__(
        self,
        where: str,
        *,
        recipe: str = "web-2",
        token_variable: str = "HAPAX_TOKEN",
        verdicts: Iterable[str] = ("exact", "near"),
        batch_size: int = TOGETHER,
        exclusion_writer: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        if "token" in settings:
            raise ArgumentError(
                f"a step holds no token, since datatrove writes steps down: set the environment variable {token_variable}"
                " where it runs"
            )
        self.where = str(where)
        self.recipe, self.token_variable, self.settings = recipe, token_variable, settings
        self.verdicts = frozenset(verdicts)
        self.batch_size = batch_size
        self.exclusion_writer = exclusion_writer

    def _pages(self, world_size: int) -> Pages:
        if self.where.startswith(("http://", "https://")):
            return Client(self.where, token=os.environ.get(self.token_variable) or None, **self.settings)
        if world_size > 1 or "{rank}" in self.where:
            raise ArgumentError(
                "a repository belongs to one task, and copies in other tasks would stay: use Fingerprint, Decide and Apply, one task, or"
                " a service that all tasks share"
            )
        settings = {"recipe": self.recipe, "keep": "earliest", **self.settings}
        return Repository(self.where, **settings)

    def run(self, data: Optional[Iterable[Any]], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        documents, start = iter(data or ()), 0
        with ExitStack() as open_now:
            pages = self._pages(world_size)
            if isinstance(pages, Repository):
                open_now.enter_context(pages)
            excluded = self.exclusion_writer and open_now.enter_context(self.exclusion_writer)
            while batch := list(islice(documents, self.batch_size)):
                # The place in the pipeline stands for the time: the first is the earliest. Texts, not signatures, so that
                # near-duplicates can be confirmed under the repository's key.
                seen = [page(str(document.id), text=document.text, fetched=place) for place, document in enumerate(batch, start)]
                start += len(batch)
                for document, verdict in zip(batch, pages.observe_many(seen)):
                    self.stat_update("total")
                    self.stat_update(verdict.verdict)
                    document.metadata["hapax"] = verdict.verdict
                    if verdict.verdict not in self.verdicts or verdict.winner == verdict.url:
                        self.stat_update("forwarded")
                        yield document
                        continue
                    self.stat_update("dropped")
                    document.metadata["hapax_winner"] = verdict.winner
                    if excluded is not None:
                        excluded.write(document, rank)
