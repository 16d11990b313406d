"""Corpora: all near pairs, groups with a copy that stays, and the whole job."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
from html import escape
from typing import Any, Callable, Iterable, Optional, Union

from . import _arrow
from ._hapax import (
    DEFAULT_MIN_SIMILARITY,
    DEFAULT_RULES,
    DEFAULT_WITHIN,
    groups_of_pairs,
    pairs_of_file,
    pairs_of_fingerprints,
    pairs_of_table,
    run_dedup,
)
from .errors import ArgumentError
from .fingerprints import Fingerprinter

__all__ = ["DEFAULT_MIN_SIMILARITY", "DEFAULT_RULES", "DEFAULT_WITHIN", "DedupResult", "dedup", "groups", "pairs"]

Path = Union[str, "os.PathLike[str]"]


def pairs(
    source: Any,
    *,
    within: int = DEFAULT_WITHIN,
    min_similarity: float = DEFAULT_MIN_SIMILARITY,
    threads: int = 0,
) -> Any:
    """All near pairs of a set, as an Arrow table of ``a``, ``b``, ``distance``, ``similarity`` and ``exact``.

    ``source`` is what :meth:`Fingerprinter.signatures` makes of a table, or a file that ``hapax fingerprint`` wrote;
    then ``a`` and ``b`` are ids and sketches confirm the pairs. Or it is bare fingerprints, in a list, a NumPy array
    or an Arrow array; then they are places, and there is no similarity. A list gives a list of tuples:

    >>> import hapax
    >>> hapax.pairs([0xFF00, 0xFF01, 0x1234], within=3)
    [(0, 1, 1)]
    """
    if isinstance(source, (str, os.PathLike)):
        return pairs_of_file(os.fspath(source), within, min_similarity, threads)
    if _arrow.is_arrow(source) and _arrow.is_table(source):
        return pairs_of_table(_signatures(source), within, min_similarity, threads)
    a, b, distance = pairs_of_fingerprints(_arrow.numbers(source, "fingerprints"), within, threads)
    if not _arrow.is_arrow(source) and not hasattr(source, "__array_interface__"):
        return list(zip(_arrow.unpacked(a), _arrow.unpacked(b), distance))
    pa = _arrow.pyarrow()
    column = pa.Array.from_buffers
    return pa.table(
        {
            "a": column(pa.uint64(), len(distance), [None, pa.py_buffer(a)]),
            "b": column(pa.uint64(), len(distance), [None, pa.py_buffer(b)]),
            "distance": column(pa.uint8(), len(distance), [None, pa.py_buffer(distance)]),
            "similarity": pa.nulls(len(distance), pa.float32()),
            "exact": pa.repeat(False, len(distance)),
        }
    )


def _signatures(source: Any) -> Any:
    """The columns of signatures that pairs are found by, in the types they were made with."""
    pa = _arrow.pyarrow()
    whole = _arrow.table(source)
    types = {
        "id": pa.string(),
        "recipe": pa.string(),
        "fingerprint": pa.uint64(),
        "content": pa.binary(16),
        "sketch": pa.binary(128),
        "too_short": pa.bool_(),
    }
    missing = [name for name in types if name not in whole.column_names]
    if missing:
        raise ArgumentError(
            f"no column {missing[0]!r}: pairs are found among what Fingerprinter.signatures() makes of a table"
        )
    return _arrow.checked(whole.select(list(types))).cast(pa.schema(types.items()))


def groups(pairs: Any, *, keep: str = DEFAULT_RULES) -> Any:
    """Groups of documents by their pairs, and which copy stays.

    ``pairs`` is what :func:`pairs` gave, or any table with its columns. The answer has ``group``, ``document``,
    ``winner``, ``outcome`` (``kept``, ``exact``, ``near``), ``distance``, ``similarity`` and ``reason``, the winner
    of each group first. A document goes only if it is paired with the one that stays. ``keep`` lists winner rules,
    most important first, such as ``"https, shortest-url"``; documents count as addresses.

    >>> import hapax
    >>> found = hapax.groups(hapax.pairs([0xFF00, 0xFF01, 0x1234], within=3))
    >>> found.select(["document", "winner", "outcome"]).to_pylist()[1]
    {'document': '1', 'winner': '0', 'outcome': 'near'}
    """
    pa = _arrow.pyarrow()
    types = {"a": pa.string(), "b": pa.string(), "distance": pa.uint8(), "similarity": pa.float32(), "exact": pa.bool_()}
    if isinstance(pairs, list):
        columns = list(zip(*pairs)) or [(), (), ()]
        pairs = pa.table({"a": pa.array(columns[0], pa.uint64()), "b": pa.array(columns[1], pa.uint64()), "distance": pa.array(columns[2], pa.uint8())})
    whole = _arrow.table(pairs)
    for name in ("similarity", "exact"):
        if name not in whole.column_names:
            whole = whole.append_column(name, pa.nulls(len(whole), types[name]))
    missing = [name for name in types if name not in whole.column_names]
    if missing:
        raise ArgumentError(f"no column {missing[0]!r}: groups are made of what pairs() gives")
    return groups_of_pairs(_arrow.checked(whole.select(list(types))).cast(pa.schema(types.items())), keep)


class DedupResult:
    """What a job did."""

    #: ``summary.json``: documents, kept, exact, near, groups and the rest, and the settings.
    summary: dict[str, Any]
    #: ``run.json``: what it took.
    run: dict[str, Any]
    #: The files that were made; empty without ``out``.
    files: list[str]
    #: ``groups.parquet`` as a table: every record; of a document its group, its winner and what decided, of others
    #: why they were passed over.
    groups: Any
    #: ``removed.parquet`` as a table: the same for documents that go.
    removed: Any
    #: The rows that stay of a table that was given; None for files.
    kept: Any

    def __init__(self, answer: dict[str, Any], groups: Any, removed: Any, kept: Any) -> None:
        self.summary = answer["summary"]
        self.run = answer["run"]
        self.files = answer["files"]
        self.groups, self.removed, self.kept = groups, removed, kept

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


def dedup(
    source: Any,
    out: Optional[Path] = None,
    *,
    recipe: str = "web-2",
    frequencies: Optional[str] = None,
    main_content: bool = False,
    within: Optional[int] = None,
    min_similarity: Optional[float] = None,
    verify: bool = False,
    keep: Optional[str] = None,
    scope: Optional[str] = None,
    languages: Iterable[str] = (),
    format: Optional[str] = None,
    revisits: bool = False,
    against: Iterable[Path] = (),
    memory: Optional[int] = None,
    restart: bool = False,
    threads: int = 0,
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
    progress: Optional[bool] = None,
) -> DedupResult:
    """Cleans a corpus: exact and near duplicates go, the best copy of each stays.

    ``source`` is a file, folder or glob, or a list of them (WARC, WET, ARC, JSONL, Parquet, HTML, text; packed or
    not), or a table: pyarrow, pandas, polars. With ``out``, a new or empty folder, everything that ``hapax dedup``
    writes is written there; a job that was interrupted continues when it is called again, or starts over with
    ``restart``. Options are those of the program; ``None`` stands for its default. ``verify`` checks every
    near-duplicate exactly against the text that stays. ``progress`` shows a
    bar of tqdm: by default on a terminal, when tqdm is installed.

    >>> import hapax, pyarrow as pa
    >>> text = " ".join(f"sentence {n} of a story about foxes." for n in range(30))
    >>> found = hapax.dedup(pa.table({"id": ["a", "b", "c"], "text": [text, text + " again", "something else"]}))
    >>> found.kept.column("id").to_pylist(), found.removed.column("winner").to_pylist()
    (['a', 'c'], ['a'])
    """
    pa = _arrow.pyarrow()
    import pyarrow.compute
    import pyarrow.parquet

    by = Fingerprinter(recipe, frequencies=frequencies, main_content=main_content)
    asked = {
        "within": within,
        "min_similarity": min_similarity,
        "verify": verify,
        "keep": keep,
        "scope": scope,
        "languages": _strings(languages, "languages"),
        "format": format,
        "revisits": revisits,
        "against": [os.fspath(one) for one in against],
        "memory": memory,
        "restart": restart,
        "threads": threads,
        "skip_bad": skip_bad,
        "error_pages": error_pages,
        "input_format": input_format,
        "id_field": id_field,
        "url_field": url_field,
        "html_field": html_field,
        "text_field": text_field,
        "score_field": score_field,
        "fetched_field": fetched_field,
        "language_field": language_field,
    }
    with tempfile.TemporaryDirectory(prefix="hapax-") as scratch:
        given = None
        if isinstance(source, (str, os.PathLike)):
            inputs = [os.fspath(source)]
        elif _arrow.is_arrow(source):
            given = _arrow.table(source)
            inputs = [os.path.join(scratch, "table.parquet")]
            pyarrow.parquet.write_table(given, inputs[0], compression="zstd")
        else:
            inputs = [os.fspath(one) for one in source]
        folder = pathlib.Path(scratch, "out") if out is None else pathlib.Path(os.fspath(out))
        with _Bar(progress) as bar:
            done = json.loads(run_dedup(inputs, os.fspath(folder), by._core, asked, bar))
        every = pyarrow.parquet.read_table(folder / "groups.parquet")
        removed = pyarrow.parquet.read_table(folder / "removed.parquet")
        kept = None
        if given is not None:
            # Arrow has no filter for views.
            given = given.cast(pa.schema([(field.name, _plain(field.type)) for field in given.schema]))
            stay = every.filter(pa.compute.equal(every.column("outcome"), "kept"))
            rows = set(stay.column("record").to_pylist())
            kept = given.filter(pa.array([row in rows for row in range(1, len(given) + 1)], pa.bool_()))
        if out is None:
            done["files"] = []
        return DedupResult(done, every, removed, kept)


def _plain(type: Any) -> Any:
    """The type of a column that Arrow can filter."""
    pa = _arrow.pyarrow()
    return {"string_view": pa.large_string(), "binary_view": pa.large_binary()}.get(str(type), type)


def _strings(values: Iterable[str], what: str) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"{what} is a list of str, not a str")
    return list(values)


class _Bar:
    """A bar of tqdm, or nothing."""

    def __init__(self, wanted: Optional[bool]) -> None:
        self._bar: Any = None
        self._new: Optional[Callable[..., Any]] = None
        self._stage = ""
        if wanted is False or (wanted is None and not sys.stderr.isatty()):
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            if wanted:
                raise ImportError("a progress bar needs tqdm: pip install 'hapax[progress]'") from None
        else:
            self._new = tqdm

    def __enter__(self) -> Optional[Callable[[str, int, int], object]]:
        return None if self._new is None else self._told

    def _told(self, stage: str, documents: int, _bytes: int) -> None:
        if stage != self._stage and self._new is not None:
            self.__exit__()
            self._stage = stage
            self._bar = self._new(desc=stage, unit=" documents")
        self._bar.update(documents - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
