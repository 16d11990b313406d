"""Corpora: all near pairs, groups with a kept copy, and the whole job on files or on a caller's data."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, TypeVar, Union, overload

from . import _arrow, _inputs
from ._hapax import (
    DEFAULT_MIN_SIMILARITY,
    DEFAULT_RULES,
    DEFAULT_WITHIN,
    SpoolCore,
    StepsCore,
    groups_of_pairs,
    pairs_of_file,
    pairs_of_fingerprints,
    pairs_of_table,
    run_dedup,
)
from ._result import Decided, Decision, DedupResult
from .errors import ArgumentError
from .fingerprints import Fingerprinter, Kind, Table

if TYPE_CHECKING:
    import numpy
    import pyarrow

__all__ = ["DEFAULT_MIN_SIMILARITY", "DEFAULT_RULES", "DEFAULT_WITHIN", "Decision", "DedupResult", "dedup", "groups", "pairs"]

T = TypeVar("T")
Path = Union[str, "os.PathLike[str]"]
#: Of a job without documents.
COUNTS = ("records", "documents", "kept", "exact", "near", "known", "unconfirmed", "groups", "largest_group")


@overload
def pairs(source: list[int], *, within: int = ..., min_similarity: float = ..., threads: int = ...) -> list[tuple[int, int, int]]: ...
@overload
def pairs(source: Union[Path, Table, "numpy.ndarray[Any, Any]"], *, within: int = ..., min_similarity: float = ..., threads: int = ...) -> "pyarrow.Table": ...


def pairs(
    source: Union[list[int], Path, Table, "numpy.ndarray[Any, Any]"],
    *,
    within: int = DEFAULT_WITHIN,
    min_similarity: float = DEFAULT_MIN_SIMILARITY,
    threads: int = 0,
) -> Union[list[tuple[int, int, int]], "pyarrow.Table"]:
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


def groups(pairs: Union[list[tuple[int, int, int]], Table], *, keep: str = DEFAULT_RULES) -> "pyarrow.Table":
    """Groups of documents by their pairs, and which copy stays.

    ``pairs`` is what :func:`pairs` gave, or any table with its columns. The answer has ``group``, ``document``,
    ``winner``, ``outcome`` (``kept``, ``exact``, ``near``), ``distance``, ``similarity`` and ``reason``, the winner
    of each group first. A document goes only if it is paired with the kept one. ``keep`` lists winner rules,
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


def dedup(
    source: Optional[T] = None,
    out: Optional[Path] = None,
    *,
    files: Union[Path, Iterable[Path], None] = None,
    kind: Optional[Kind] = None,
    recipe: str = "web-2",
    frequencies: Optional[str] = None,
    main_content: bool = False,
    within: Optional[int] = None,
    min_similarity: Optional[float] = None,
    verify: bool = False,
    key: Optional[Path] = None,
    frames: Optional[str] = None,
    keep: Optional[str] = None,
    scope: Optional[str] = None,
    languages: Iterable[str] = (),
    format: Optional[str] = None,
    shard_size: Optional[int] = None,
    layout: Optional[str] = None,
    revisits: bool = False,
    against: Iterable[Path] = (),
    memory: Optional[int] = None,
    restart: bool = False,
    threads: int = 0,
    skip_bad: bool = False,
    follow_links: bool = False,
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
) -> DedupResult[T]:
    """Removes exact and near duplicates; of each group one document stays.

    ``source`` is a list or series of str, a list of dicts, a data frame of pandas or polars (also lazy), a table, reader or dataset of
    pyarrow, a dataset of Hugging Face (also iterable, also with splits), or an iterator of rows or batches, which is
    copied to temporary files: memory does not grow with the texts. ``kept`` is of the same type; ``removed`` and
    ``groups`` name rows of the input, from 0. Columns are found by their usual names, HTML before text, or named by
    ``text_field`` and its like; ``kind`` says what a single column holds. Without a column of URLs the first
    of each group stays (``keep="first"``).

    Files are given as a :class:`pathlib.Path` or by ``files``: names, folders, globs or addresses such as
    ``s3://bucket/crawl/`` (WARC, WET, ARC, JSONL, Parquet, HTML, text; packed or not). With ``out``, a new or empty folder or its
    address, what ``hapax dedup`` writes is written there; a job that was interrupted
    continues when it is called again, or starts over with ``restart``. Options are those of the program; ``None``
    stands for its default. ``verify`` checks every near-duplicate exactly against the kept text. ``key``, the folder of an
    earlier run, makes this one write the same bytes again. ``frames="off"``
    compares whole pages only, also on one host; ``frames="own"`` compares what pages say beyond the frames of their hosts, and
    nothing else. ``shard_size`` writes kept documents to files of about so many bytes, ``layout="as-input"`` to a file for each input file,
    ``follow_links`` reads what links in folders lead to. ``progress`` shows a bar of tqdm: by default on a terminal, when
    tqdm is installed.

    >>> import hapax
    >>> text = " ".join(f"sentence {n} of a story about foxes." for n in range(30))
    >>> found = hapax.dedup([text, text + " again", "something else"])
    >>> found.kept == [text, "something else"]
    True
    >>> [(gone.row, gone.kept_row, gone.outcome) for gone in found.removed]
    [(1, 0, 'near')]
    """
    by = Fingerprinter(recipe, frequencies=frequencies, main_content=main_content)
    asked = {
        "within": within,
        "min_similarity": min_similarity,
        "verify": verify,
        "key": None if key is None else os.fspath(key),
        "frames": frames,
        "keep": keep,
        "scope": scope,
        "languages": _strings(languages, "languages"),
        "format": format,
        "shard_size": shard_size,
        "layout": layout,
        "revisits": revisits,
        "against": [os.fspath(one) for one in against],
        "memory": memory,
        "restart": restart,
        "threads": threads,
        "skip_bad": skip_bad,
        "follow_links": follow_links,
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
    if shard_size is not None and out is None:
        raise ArgumentError("shard_size= is the size of the files in out=, and there is no out=")
    if layout is not None and out is None:
        raise ArgumentError("layout= is that of the files in out=, and there is no out=")
    inputs = _paths(source, files)
    folder = None if out is None else os.fspath(out)
    scratch = _inputs.Scratch()
    try:
        if inputs is None:
            return _dedup_rows(_inputs.given(source, scratch), kind, scratch, folder, by, asked, progress)
        made = folder or scratch.path("out")
        with _Bar(progress) as bar:
            summary, _ = run_dedup(inputs, made, by._core, asked, bar, False)
        done = json.loads(summary)
        return DedupResult(done if out is not None else {**done, "files": []}, None, None, made, scratch)
    except BaseException:
        # An exception holds this frame, and with it the folder.
        scratch.remove()
        raise


#: What is asked of a job unless the caller says otherwise.
STANDARD: dict[str, Any] = dict(dedup.__kwdefaults__ or {})


def _paths(source: object, files: Union[Path, Iterable[Path], None]) -> Optional[list[str]]:
    """The files that a caller names; None for data."""
    if files is not None:
        if source is not None:
            raise ArgumentError("give either documents or files=, not both")
        return [os.fspath(one) for one in ([files] if isinstance(files, (str, os.PathLike)) else files)]
    if isinstance(source, os.PathLike):
        return [os.fspath(source)]
    if isinstance(source, list) and source and all(isinstance(one, os.PathLike) for one in source):
        return [os.fspath(one) for one in source]
    return None


def _dedup_rows(
    given: _inputs.Given,
    kind: Optional[Kind],
    scratch: _inputs.Scratch,
    out: Optional[str],
    by: Fingerprinter,
    asked: dict[str, Any],
    progress: Optional[bool],
) -> DedupResult[Any]:
    """The job on a caller's data, by way of a temporary file of what it needs."""
    fields = {role: asked.pop(f"{role}_field") for role in ("id", *_inputs.ROLES) if f"{role}_field" in asked}
    named = {role: name for role, name in fields.items() if name is not None}
    if given.names is None and named:
        raise ArgumentError(f"{next(iter(named))}_field= names a column of a table; this is a single column")
    if given.names is not None and kind is not None:
        raise ArgumentError("kind= is for a single column; name columns of a table by html_field= or text_field=")
    if kind not in (None, "text", "html", "bytes"):
        raise ArgumentError(f"kind {kind!r} is none of 'text', 'html' and 'bytes'")
    roles = {kind or "text": ""} if given.names is None else _inputs.chosen(given.names, named)
    roles = {role: name for role, name in roles.items() if role in _inputs.ROLES}
    path = scratch.path("documents.jsonl")
    spool = SpoolCore(path)
    for batch in given.batches(list(dict.fromkeys(roles.values()))):
        columns = {role: list(batch[name]) for role, name in roles.items()}
        if "fetched" in columns:
            columns["fetched"] = [_inputs.seconds(value) for value in columns["fetched"]]
        spool.add(len(next(iter(columns.values()))), columns)
    count, documents = spool.finish()
    if "url" not in roles:
        # Rules may not tell rows apart, and numbers of rows are no addresses.
        rules = [rule.strip() for rule in (asked["keep"] or "").split(",") if rule.strip()]
        asked["keep"] = ", ".join(rules if "first" in rules else [*rules, "first"])
    # The file has the names that are looked for.
    asked.update({f"{role}_field": None for role in fields}, input_format=None)
    if not documents:
        settings = json.loads(StepsCore(by._core, asked).settings())
        done: dict[str, Any] = {"summary": {**dict.fromkeys(COUNTS, 0), "passed_over": {}, "settings": settings}, "run": {}, "files": []}
        decided = Decided.nothing(count)
    else:
        with _Bar(progress) as bar:
            summary, rows = run_dedup([path], out, by._core, asked, bar, True)
        assert rows is not None
        done, decided = json.loads(summary), Decided(count, documents, rows)
    os.remove(path)
    if missing := count - len(decided.documents):
        done["summary"]["records"] += missing
        done["summary"]["passed_over"]["null_text"] = missing
    return DedupResult(done, given, decided, out or "", scratch)


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
        return None if self._new is None else self._report

    def _report(self, stage: str, documents: int, _bytes: int) -> None:
        if stage != self._stage and self._new is not None:
            self.__exit__()
            self._stage = stage
            self._bar = self._new(desc=stage, unit=" documents")
        self._bar.update(documents - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
