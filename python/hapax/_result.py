"""What a job did: kept rows in the caller's type, removed rows and groups with row numbers of the input.

Rows are kept in columns of numbers and made into objects when they are asked for.
"""

from __future__ import annotations

import os
import sys
from array import array
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Optional, Sequence, TypeVar, Union

from . import _arrow
from ._inputs import Given, Scratch

if TYPE_CHECKING:
    import datasets
    import pandas
    import polars
    import pyarrow

__all__ = ["Decision", "DedupResult"]

T = TypeVar("T")
#: Rows of a result: a data frame, table or dataset of the caller's library; for lists a list.
Frame = Union["list[Decision]", "pandas.DataFrame", "polars.DataFrame", "pyarrow.Table", "datasets.Dataset"]
OUTCOMES = {ord("k"): "kept", ord("e"): "exact", ord("n"): "near"}
NO_REASON = 2**32 - 1


class Decision(NamedTuple):
    """What became of a row."""

    #: The row of the input, from 0.
    row: int
    #: The row that is kept: its own, or that of which it is a duplicate. None if an earlier job kept that one.
    kept_row: Optional[int]
    #: ``kept``, ``exact``, ``near``, or ``no_text`` for a row without text, which is kept.
    outcome: str
    #: Bits between the fingerprints of the two; None for a row that is kept.
    distance: Optional[int]
    #: Estimated similarity of the two, 0 to 1; None for a row that is kept.
    similarity: Optional[float]
    #: Which rule kept the other row, and why.
    reason: Optional[str]
    #: The id of the document that an earlier job kept.
    earlier: Optional[str] = None


class Decided:
    """What became of every row of a caller's data."""

    def __init__(self, count: int, documents: bytes, columns: Sequence[Any]) -> None:
        winners, self.outcomes, self.distances, similarities, reasons, self.reasons, self.earlier = columns
        #: The rows that have text, in order.
        self.documents: Sequence[int] = range(count) if len(documents) == 8 * count else _numbers("Q", documents)
        self.count = count
        self.winners = _numbers("Q", winners)
        self.similarities, self.codes = _numbers("f", similarities), _numbers("I", reasons)

    @classmethod
    def nothing(cls, count: int) -> "Decided":
        """Of rows none of which has text."""
        return cls(count, b"", (b"", b"", b"", b"", b"", [], []))

    def kept(self) -> list[int]:
        """The rows that stay, in order."""
        gone = {self.documents[at] for at in self._removed()}
        return [row for row in range(self.count) if row not in gone]

    def _removed(self) -> list[int]:
        return [at for at, outcome in enumerate(self.outcomes) if outcome != ord("k")]

    def removed(self) -> list[Decision]:
        return [self._decision(at) for at in self._removed()]

    def groups(self) -> list[Decision]:
        rows = [Decision(row, row, "no_text", None, None, None) for row in range(self.count)]
        for at, row in enumerate(self.documents):
            rows[row] = self._decision(at)
        return rows

    def _decision(self, at: int) -> Decision:
        winner, code, stays = self.winners[at], self.codes[at], self.outcomes[at] == ord("k")
        before = winner < len(self.documents)
        return Decision(
            self.documents[at],
            self.documents[winner] if before else None,
            OUTCOMES[self.outcomes[at]],
            None if stays else self.distances[at],
            None if stays else self.similarities[at],
            None if code == NO_REASON else self.reasons[code],
            None if before else self.earlier[winner - len(self.documents)],
        )


class DedupResult(Generic[T]):
    """What a job did."""

    #: ``summary.json``: documents, kept, exact, near, groups and the rest, and the settings.
    summary: dict[str, Any]
    #: ``run.json``: what it took.
    run: dict[str, Any]
    #: The files that were made; empty without ``out``.
    files: list[str]

    def __init__(self, answer: dict[str, Any], given: Optional[Given], decided: Optional[Decided], folder: str, scratch: Scratch) -> None:
        self.summary, self.run, self.files = answer["summary"], answer["run"], answer["files"]
        self._given, self._decided, self._folder = given, decided, folder
        # Tables of files without an output folder lie there as long as somebody may ask for them.
        self._scratch = scratch

    @cached_property
    def kept(self) -> T:
        """The rows that stay, in the type that was given: index, column types and order are those of the input. Rows
        without text stay. None for files, whose kept documents are in ``files``."""
        return None if self._given is None or self._decided is None else self._given.select(self._decided.kept())  # type: ignore[return-value]

    @cached_property
    def removed(self) -> Frame:
        """The rows that go: :class:`Decision` s in a list, or a table with its fields as columns, in the caller's library.
        For files ``removed.parquet`` as an Arrow table."""
        return self._rows("removed", None if self._decided is None else self._decided.removed())

    @cached_property
    def groups(self) -> Frame:
        """The same for all rows; rows with one ``kept_row`` are a group. For files ``groups.parquet``: every record, of
        a document its group, its winner and what decided, of others why they were passed over."""
        return self._rows("groups", None if self._decided is None else self._decided.groups())

    def _rows(self, name: str, rows: Optional[list[Decision]]) -> Frame:
        if self._given is None or rows is None:
            _arrow.pyarrow()
            import pyarrow.parquet

            return pyarrow.parquet.read_table(os.path.join(self._folder, f"{name}.parquet"))
        names = Decision._fields if any(row.earlier for row in rows) else Decision._fields[:-1]
        columns = dict(zip(Decision._fields, zip(*rows))) if rows else {}
        made = self._given.table({name: list(columns.get(name, ())) for name in names})
        return rows if isinstance(made, list) else made

    def __repr__(self) -> str:
        s = self.summary
        return (
            f"DedupResult({s['documents']} documents, {s['kept']} kept, {s['exact']} exact and {s['near']} near "
            f"duplicates in {s['groups']} groups)"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the summary as a table."""
        s = self.summary
        rows = [
            ("documents", f"{s['documents']:,}"),
            ("kept", f"{s['kept']:,}"),
            ("exact duplicates", f"{s['exact']:,}"),
            ("near duplicates", f"{s['near']:,}"),
            ("groups", f"{s['groups']:,}"),
            ("largest group", f"{s['largest_group']:,}"),
            ("recipe", s["settings"]["recipe"]),
            ("within", f"{s['settings']['within']} bits"),
            ("similarity from", f"{s['settings']['min_similarity']}"),
        ]
        cells = "".join(f"<tr><th style='text-align:left'>{name}</th><td>{escape(value)}</td></tr>" for name, value in rows)
        return f"<table class='hapax-summary'><tbody>{cells}</tbody></table>"


def _numbers(code: str, data: bytes) -> "array[Any]":
    """Numbers from their little-endian bytes."""
    held = array(code, data)
    if sys.byteorder == "big":
        held.byteswap()
    return held
