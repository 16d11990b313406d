"""Documents in, fingerprints out.

>>> import hapax
>>> by = hapax.Fingerprinter()
>>> page = by.html("<title>Tea</title><p>Green tea is a drink made of leaves.</p>")
>>> page.hex
'b1ecb2600a82d480'
>>> by.text("nothing at all").distance(page) > 16
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Iterable, Literal, Optional, Union, overload

from . import _arrow, _inputs
from ._hapax import Comparison, FingerprinterCore, Signature, built_in_recipes
from .errors import HapaxError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Comparison", "Fingerprinter", "Signature", "compare", "recipes"]

Document = Union[str, bytes]
#: What a column holds: plain text, HTML, or bytes of either in any encoding.
Kind = Literal["text", "html", "bytes"]
#: What becomes of a page that is neither HTML nor text.
Errors = Literal["raise", "none"]
#: A column, or a table with a column, of documents.
Table = Union[
    "pyarrow.Array", "pyarrow.ChunkedArray", "pyarrow.RecordBatch", "pyarrow.Table", "pandas.Series[str]", "pandas.DataFrame", "polars.Series", "polars.DataFrame"
]


def recipes() -> list[str]:
    """The names of the built-in recipes, the default first.

    >>> import hapax
    >>> hapax.recipes()[0]
    'web-2'
    """
    return built_in_recipes()


class Fingerprinter:
    """A recipe made ready: the whole way from bytes to bits.

    ``recipe`` is the name of a built-in recipe or a ``.toml`` file; ``frequencies`` the table that recipes with
    TF-IDF weights need (``hapax train`` makes one); ``main_content`` leaves navigation, header and footer out.

    One object serves any number of threads, and can be pickled.

    >>> import hapax
    >>> by = hapax.Fingerprinter("web-2")
    >>> by.fingerprints(["Green tea is a drink.", "Green tea is a drink!"], threads=2)
    [11587394810944838792, 11587394810944838792]
    """

    __slots__ = ("_arguments", "_core")

    def __init__(self, recipe: str = "web-2", *, frequencies: Optional[str] = None, main_content: bool = False) -> None:
        frequencies = None if frequencies is None else str(frequencies)
        self._arguments = (str(recipe), frequencies, main_content)
        self._core = FingerprinterCore(*self._arguments)

    @property
    def recipe(self) -> str:
        """Name and digest: fingerprints with the same are comparable."""
        return self._core.recipe

    def text(self, text: Document) -> Signature:
        """The signature of a plain text."""
        return self._core.one(text, "text", None, None)

    def html(self, html: Document) -> Signature:
        """The signature of a page given as HTML."""
        return self._core.one(html, "html", None, None)

    def page(self, data: bytes, *, content_type: Optional[str] = None, url: Optional[str] = None) -> Signature:
        """The signature of a page of unknown kind and encoding.

        >>> import hapax
        >>> by = hapax.Fingerprinter()
        >>> same = by.page("<p>grüner Tee".encode("latin-1"), content_type="text/html; charset=latin-1")
        >>> same == by.html("<p>grüner Tee")
        True
        """
        if not isinstance(data, bytes):
            raise TypeError(f"data is {type(data).__name__}, not bytes")
        return self._core.one(data, "bytes", content_type, url)

    def extract(self, document: Document, *, kind: Kind = "html") -> str:
        """The text that is fingerprinted.

        >>> import hapax
        >>> hapax.Fingerprinter().extract("<title>Tea</title><p>Green &amp; <b>hot</b><script>no</script>")
        'Tea Green & hot'
        """
        return self._core.extract(document, kind)

    @overload
    def fingerprints(
        self, documents: Union[list[str], list[bytes]], *, kind: Optional[Kind] = ..., column: None = ..., threads: int = ..., errors: Errors = ...
    ) -> list[Optional[int]]: ...
    @overload
    def fingerprints(
        self, documents: Iterator[Document], *, kind: Optional[Kind] = ..., column: None = ..., threads: int = ..., errors: Errors = ...
    ) -> Iterator[Optional[int]]: ...
    @overload
    def fingerprints(
        self, documents: Table, *, kind: Optional[Kind] = ..., column: Optional[str] = ..., threads: int = ..., errors: Errors = ...
    ) -> "pyarrow.UInt64Array": ...

    def fingerprints(
        self,
        documents: Any,
        *,
        kind: Optional[Kind] = None,
        column: Optional[str] = None,
        threads: int = 1,
        errors: Errors = "raise",
    ) -> Any:
        """The fingerprints of many documents, as ints; None for a document without words.

        ``documents`` is a list of str or of bytes, or Arrow data: an array, a chunked array, a series of pandas or
        polars, or a table or data frame whose ``column`` holds them. Arrow gives a ``pyarrow.UInt64Array`` and has
        nulls for None. An iterator of documents, or of batches of them, gives an iterator and holds some at a time, so that what is
        larger than memory can be read. Columns are found by the rule of :func:`hapax.dedup`: by their usual names, HTML before text.
        ``kind`` is ``text``, ``html`` or ``bytes``; by default a column's name says it. ``threads=0`` uses all cores. What is neither
        HTML nor text is a :class:`~hapax.errors.PageError`, or None with ``errors="none"``.

        >>> import hapax
        >>> stream = hapax.Fingerprinter().fingerprints(f"text number {n}" for n in range(100_000))
        >>> next(stream)
        5011369200919285781
        """
        skip = _skips(errors)

        def of_table(table: Any, _: int) -> Any:
            return self._core.fingerprints_of_stream(_arrow.documents(table, kind, column), threads, skip)

        def of_list(part: list[Document]) -> list[Optional[int]]:
            return self._core.fingerprints_of_list(part, kind or "text", threads, skip)

        return _many(documents, column, of_list, of_table)

    @overload
    def signatures(
        self, documents: Union[list[str], list[bytes]], *, kind: Optional[Kind] = ..., column: None = ..., id: None = ..., threads: int = ..., errors: Errors = ...
    ) -> list[Optional[Signature]]: ...
    @overload
    def signatures(
        self, documents: Iterator[Document], *, kind: Optional[Kind] = ..., column: None = ..., id: None = ..., threads: int = ..., errors: Errors = ...
    ) -> Iterator[Optional[Signature]]: ...
    @overload
    def signatures(
        self, documents: Table, *, kind: Optional[Kind] = ..., column: Optional[str] = ..., id: Optional[str] = ..., threads: int = ..., errors: Errors = ...
    ) -> "pyarrow.Table": ...

    def signatures(
        self,
        documents: Any,
        *,
        kind: Optional[Kind] = None,
        column: Optional[str] = None,
        id: Optional[str] = None,
        threads: int = 1,
        errors: Errors = "raise",
    ) -> Any:
        """The signatures of many documents, given as for :meth:`fingerprints`.

        A list gives a list of :class:`Signature`. Arrow data gives the table that ``hapax fingerprint`` writes:
        ``id`` (of the column named so, or the row), ``recipe``, ``fingerprint``, ``content``, ``words``,
        ``features``, ``too_short``, ``weak_bits``, ``sketch``. :func:`hapax.pairs` takes it. A stream of batches gives a
        stream of tables, whose rows are numbered on.
        """
        skip = _skips(errors)

        def of_table(table: Any, first: int) -> Any:
            return self._core.signatures_of_stream(_arrow.documents(table, kind, column, id), threads, skip, first)

        def of_list(part: list[Document]) -> list[Optional[Signature]]:
            if id is not None:
                raise TypeError("id= names a column of a table; a list has none")
            return self._core.signatures_of_list(part, kind or "text", threads, skip)

        return _many(documents, column, of_list, of_table)

    def compare(self, left: Document, right: Document, *, kind: Kind = "text") -> Comparison:
        """Why two documents are, or are not, alike. Slow and exact; notebooks show it side by side.

        Compares whole pages: what belongs to the frame of a site cannot be seen from two of its pages. What pages say
        beyond it is in ``own`` of a repository's verdicts and in ``groups.parquet`` of a job.

        >>> import hapax
        >>> one = "the quick brown fox jumps over the lazy dog and then runs far away"
        >>> seen = hapax.Fingerprinter().compare(one, one.replace("dog", "cat"))
        >>> [text for text, shared in seen.left_passages if not shared]
        ['dog']
        """
        return self._core.compare(left, right, kind)

    def __reduce__(self) -> tuple[object, ...]:
        return _again, self._arguments

    def __repr__(self) -> str:
        return f"Fingerprinter({self.recipe})"


def compare(left: Document, right: Document, *, kind: Kind = "text", recipe: str = "web-2") -> Comparison:
    """Why two documents are, or are not, alike; see :meth:`Fingerprinter.compare`.

    >>> import hapax
    >>> hapax.compare("<p>Tea", "<div>Tea</div>", kind="html").same_text
    True
    """
    return Fingerprinter(recipe).compare(left, right, kind=kind)


def _again(recipe: str, frequencies: Optional[str], main_content: bool) -> Fingerprinter:
    return Fingerprinter(recipe, frequencies=frequencies, main_content=main_content)


def _skips(errors: str) -> bool:
    if errors not in ("raise", "none"):
        raise ValueError(f"errors={errors!r} is neither 'raise' nor 'none'")
    return errors == "none"


def _many(documents: Any, column: Optional[str], of_list: Any, of_table: Any) -> Any:
    """What is made of many documents: of a stream, some at a time."""
    if isinstance(documents, Iterator) or type(documents).__name__ == "RecordBatchReader":
        return _streamed(iter(documents), column, of_list, of_table)
    if _arrow.is_arrow(documents):
        return of_table(documents, 0)
    if column is not None:
        raise TypeError("column= names a column of a table; a list has none")
    if isinstance(documents, (str, bytes)):
        raise TypeError("many documents are a list; for one, use text(), html() or page()")
    if isinstance(documents, Mapping):
        raise TypeError("a dict is not a table: give pyarrow.table(it), or one of its lists")
    return of_list(documents if isinstance(documents, list) else list(documents))


def _streamed(stream: Iterator[Any], column: Optional[str], of_list: Any, of_table: Any) -> Iterator[Any]:
    row = 0
    first = list(islice(stream, 1))
    stream = chain(first, stream)
    if not first or not isinstance(first[0], (str, bytes, type(None))):
        for batch in stream:
            if _arrow.is_arrow(batch):
                yield of_table(batch, row)
            else:
                yield of_list(list(batch))
            row += len(batch)
        return
    if column is not None:
        raise TypeError(f"column= names a column of a table; the stream holds {type(first[0]).__name__}")
    for part in _inputs.portions(stream):
        try:
            yield from of_list(part)
        except HapaxError as error:
            raise error.at(f"from document {row} on") from None
        row += len(part)
