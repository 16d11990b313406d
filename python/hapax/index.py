"""Who is near: an index of fingerprints that takes additions and removals while it answers."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, NamedTuple, Optional, Union, overload

from . import _arrow
from ._hapax import IndexCore, plan_json

if TYPE_CHECKING:
    import numpy
    import polars
    import pyarrow

__all__ = ["Candidate", "Index", "Match", "Plan", "plan"]

#: Whole numbers of 64 bits.
Numbers = Union[Iterable[int], "numpy.ndarray[Any, Any]", "pyarrow.Array", "pyarrow.ChunkedArray", "polars.Series"]


class Match(NamedTuple):
    """A stored fingerprint near the one that was asked for."""

    id: int
    distance: int


class Index:
    """Fingerprints with ids, searched exactly within a Hamming distance; every bound is inclusive.

    >>> import hapax
    >>> index = hapax.Index.build([0xFF00, 0xFF01, 0x1234], within=3)
    >>> index.find(0xFF00)
    [Match(id=0, distance=0), Match(id=1, distance=1)]
    >>> index.add(9, 0xFF03)
    >>> index.remove(0)
    True
    >>> index.find(0xFF00, within=1), len(index), 9 in index
    ([Match(id=1, distance=1)], 3, True)

    ``within`` is the widest distance that can be asked for. Ids are whole numbers from 0 to 2**64 - 1; a second
    fingerprint under an id replaces the first. It can be pickled.
    """

    __slots__ = ("_core", "recipe")

    #: The recipe of the fingerprints, as the caller or the file says it.
    recipe: Optional[str]

    def __init__(self, within: int = 6, *, recipe: Optional[str] = None) -> None:
        self._core = IndexCore(within)
        self.recipe = recipe

    @classmethod
    def build(cls, fingerprints: Numbers, ids: Optional[Numbers] = None, *, within: int = 6, recipe: Optional[str] = None) -> "Index":
        """An index of fingerprints that are there already: a list, a NumPy array or an Arrow array.

        Without ids they are numbered from 0.
        """
        bits = _arrow.numbers(fingerprints, "fingerprints")
        numbers = _arrow.numbers(range(len(bits) // 8) if ids is None else ids, "ids")
        return cls._of(IndexCore.build(numbers, bits, within), recipe)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"], *, within: int = 6) -> "Index":
        """Reads what :meth:`save`, or ``hapax near build``, wrote.

        Names that are whole numbers are the ids; otherwise ids are places in the file, from 0.
        """
        return cls._of(*IndexCore.load(os.fspath(path), within))

    @classmethod
    def _of(cls, core: IndexCore, recipe: Optional[str]) -> "Index":
        made = cls.__new__(cls)
        made._core, made.recipe = core, recipe
        return made

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the ``.hpx`` file that ``hapax near find --index`` searches. It appears when it is complete.

        >>> import hapax, tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "near.hpx"
        >>> hapax.Index.build([1, 2, 3], within=1).save(file)
        >>> hapax.Index.load(file, within=1).find(2)
        [Match(id=1, distance=0), Match(id=2, distance=1)]
        """
        self._core.save(os.fspath(path), self.recipe)

    def add(self, id: int, fingerprint: int) -> None:
        """Puts a fingerprint in."""
        self.add_many([id], [fingerprint])

    def add_many(self, ids: Numbers, fingerprints: Numbers) -> None:
        """Puts many in, as one change: a search sees all of them or none."""
        self._core.add(_arrow.numbers(ids, "ids"), _arrow.numbers(fingerprints, "fingerprints"))

    def remove(self, id: int) -> bool:
        """Takes a fingerprint out. Whether there was one."""
        return self.remove_many([id]) == 1

    def remove_many(self, ids: Numbers) -> int:
        """Takes many out, as one change. How many there were."""
        return self._core.remove(_arrow.numbers(ids, "ids"))

    def find(self, fingerprint: int, within: Optional[int] = None) -> list[Match]:
        """All matches, nearest first, ties by id."""
        return [Match(*found) for found in self._core.find(fingerprint, within)]

    @overload
    def find_many(self, fingerprints: list[int], within: Optional[int] = ..., *, threads: int = ...) -> list[list[Match]]: ...
    @overload
    def find_many(
        self, fingerprints: "numpy.ndarray[Any, Any]", within: Optional[int] = ..., *, threads: int = ...
    ) -> "tuple[numpy.ndarray[Any, Any], numpy.ndarray[Any, Any], numpy.ndarray[Any, Any]]": ...
    @overload
    def find_many(
        self, fingerprints: "Union[pyarrow.Array, pyarrow.ChunkedArray, polars.Series]", within: Optional[int] = ..., *, threads: int = ...
    ) -> "pyarrow.Table": ...

    def find_many(self, fingerprints: Any, within: Optional[int] = None, *, threads: int = 1) -> Any:
        """The matches of many fingerprints, in the order of the queries, nearest first.

        A list gives a list of lists of :class:`Match`. A NumPy array gives three arrays: the number of the query,
        the id of the match, the distance. An Arrow array gives a table with these columns.

        >>> import hapax
        >>> hapax.Index.build([1, 2, 3], within=1).find_many([3, 64])
        [[Match(id=2, distance=0), Match(id=0, distance=1), Match(id=1, distance=1)], []]
        """
        bits = _arrow.numbers(fingerprints, "fingerprints")
        query, id, distance = self._core.find_many(bits, within, threads)
        if hasattr(fingerprints, "__array_interface__"):
            import numpy

            number = numpy.dtype("<u8")
            return (
                numpy.frombuffer(query, number),
                numpy.frombuffer(id, number),
                numpy.frombuffer(distance, numpy.uint8),
            )
        if _arrow.is_arrow(fingerprints):
            pa = _arrow.pyarrow()
            made = {
                "query": pa.Array.from_buffers(pa.uint64(), len(distance), [None, pa.py_buffer(query)]),
                "id": pa.Array.from_buffers(pa.uint64(), len(distance), [None, pa.py_buffer(id)]),
                "distance": pa.Array.from_buffers(pa.uint8(), len(distance), [None, pa.py_buffer(distance)]),
            }
            return pa.table(made)
        found: list[list[Match]] = [[] for _ in range(len(bits) // 8)]
        for at, near, bits_apart in zip(_arrow.unpacked(query), _arrow.unpacked(id), distance):
            found[at].append(Match(near, bits_apart))
        return found

    @property
    def within(self) -> int:
        """The widest distance that can be asked for."""
        return self._core.within

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory it holds."""
        return self._core.memory_bytes

    def plan(self, *, memory: Optional[int] = None, recall: float = 1.0, queries: Optional[int] = None) -> "Plan":
        """Which index its fingerprints would need; see :func:`plan`."""
        return plan(max(1, len(self)), self.within, memory=memory, recall=recall, queries=queries)

    def __reduce__(self) -> tuple[object, ...]:
        return _index, (*self._core.entries(), self.within, self.recipe)

    def __len__(self) -> int:
        return self._core.count()

    def __contains__(self, id: object) -> bool:
        return isinstance(id, int) and 0 <= id < 1 << 64 and self._core.contains(id)

    def __repr__(self) -> str:
        return f"Index({len(self)} fingerprints, within {self.within})"


def _index(ids: bytes, fingerprints: bytes, within: int, recipe: Optional[str]) -> Index:
    return Index._of(IndexCore.build(ids, fingerprints, within), recipe)


@dataclass(frozen=True)
class Candidate:
    """An engine and what it is predicted to take."""

    engine: str
    tables: int
    recall: float
    bytes_per_page: float
    total_bytes: int
    probes: float
    compared: float
    nanoseconds_per_query: float
    fits: bool


@dataclass(frozen=True)
class Plan:
    """What could be done, and what is best."""

    candidates: tuple[Candidate, ...]
    chosen: int
    reason: str

    @property
    def choice(self) -> Candidate:
        """The best candidate."""
        return self.candidates[self.chosen]


def plan(
    pages: int,
    within: int = 3,
    *,
    memory: Optional[int] = None,
    recall: float = 1.0,
    queries: Optional[int] = None,
) -> Plan:
    """Which index so many pages need: engines with predicted bytes and time, and the best of them.

    >>> import hapax
    >>> hapax.plan(10_000_000, within=3, memory=10**9).choice.fits
    True
    """
    found = json.loads(plan_json(pages, within, memory, recall, queries))
    candidates = tuple(Candidate(**candidate) for candidate in found["candidates"])
    return Plan(candidates, found["chosen"], found["reason"])
