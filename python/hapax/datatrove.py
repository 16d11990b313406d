"""A step for datatrove pipelines: of documents that say nearly the same, one stays.

::

    from hapax.datatrove import Deduplicate
    pipeline = [JsonlReader("pages"), Deduplicate("seen-{rank}"), JsonlWriter("kept")]

Each rank has a repository of its own (``{rank}`` stands for its number); ranks that share a service
(``Deduplicate("http://127.0.0.1:8017")``) deduplicate across all of them. Documents need ``text`` and ``id``;
datatrove itself need not be installed. In a repository the first of its kind stays; a service has rules of its own, and a
document that is better by them passes, too. datatrove pickles its steps and writes them down beside the logs, so a step holds
no token: it is read where the step runs, from ``HAPAX_TOKEN`` or the environment variable named by ``token_variable``.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from itertools import islice
from typing import Any, Iterable, Iterator, Optional

from .client import Client
from .errors import ArgumentError
from .repository import Pages, Repository, page

__all__ = ["Deduplicate"]

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


class Deduplicate(_Step):  # type: ignore[misc]
    """Passes on what was not seen before; ``metadata["hapax"]`` has the verdict.

    ``where`` is a folder, in which ``{rank}`` stands for the rank, or the address of a service. ``verdicts`` are
    those that go. ``exclusion_writer`` gets what goes, as datatrove's filters have it.
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
        batch_size: int = 256,
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

    def _pages(self, rank: int) -> Pages:
        if self.where.startswith(("http://", "https://")):
            return Client(self.where, token=os.environ.get(self.token_variable) or None, **self.settings)
        settings = {"recipe": self.recipe, "keep": "earliest", **self.settings}
        return Repository(self.where.replace("{rank}", f"{rank:05d}"), **settings)

    def run(self, data: Optional[Iterable[Any]], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        documents, start = iter(data or ()), 0
        with ExitStack() as open_now:
            pages = self._pages(rank)
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
