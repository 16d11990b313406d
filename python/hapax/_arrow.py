"""Columns and numbers in whatever form they come, in the form the engine takes.

Arrow data is never copied here: arrays, chunked arrays and series of pandas and polars become a table of one
column through the Arrow PyCapsule protocol, and the table's stream is what the engine reads. The engine takes text
for UTF-8 and offsets for true, and sizes of buffers do not cross that protocol: :func:`checked` is asked before.
"""

from __future__ import annotations

import sys
from array import array
from typing import Any, Optional

from .errors import ArgumentError, ArrowError

#: Columns that hold documents when none is named, best first; the names a corpus file is searched for, too.
USUAL = ("text", "content", "raw_content", "body", "html", "raw_html")


def pyarrow() -> Any:
    """pyarrow, or an error that says how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Arrow data needs pyarrow: pip install 'hapax[arrow]'") from error
    return pyarrow


def is_arrow(value: object) -> bool:
    """Does it speak Arrow, or is it a pandas object?"""
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        return True
    return type(value).__module__.split(".")[0] == "pandas"


def is_table(value: object) -> bool:
    """Has it columns with names?"""
    return hasattr(value, "columns") or hasattr(value, "column_names")


def table(value: Any) -> Any:
    """Any table as pyarrow's."""
    pa = pyarrow()
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if hasattr(value, "__arrow_c_stream__"):
        return pa.table(value)
    return pa.Table.from_pandas(value, preserve_index=False)


def column(value: Any) -> Any:
    """Any column as pyarrow's chunked array."""
    pa = pyarrow()
    if isinstance(value, pa.ChunkedArray):
        return value
    if hasattr(value, "__arrow_c_stream__"):
        return pa.chunked_array(value)
    if hasattr(value, "__arrow_c_array__"):
        return pa.chunked_array([pa.array(value)])
    made = pa.array(value, from_pandas=True)
    return made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made])


def checked(value: Any) -> Any:
    """The same array, batch or table, once it is known to be what it says: pyarrow reads files without looking at
    the bytes of text or where offsets lead."""
    try:
        value.validate(full=True)
    except pyarrow().ArrowInvalid as error:
        raise ArrowError(f"the Arrow data contradicts itself: {error}") from error
    return value


def documents(value: Any, name: Optional[str], id_name: Optional[str] = None) -> tuple[Any, bool]:
    """A table of documents, and ids if they are asked for; whether there are ids."""
    pa = pyarrow()
    if not is_table(value):
        if name is not None or id_name is not None:
            raise ArgumentError("column= and id= name columns of a table; this is a single column")
        return pa.table({"document": checked(column(value))}), False
    whole = table(value)
    there = list(whole.column_names)
    if name is None:
        name = next((usual for usual in USUAL if usual in there), None)
        if name is None:
            raise ArgumentError(f"which column holds the documents? column= one of: {', '.join(there)}")
    for wanted in (name, id_name):
        if wanted is not None and wanted not in there:
            raise ArgumentError(f"no column {wanted!r}; there are: {', '.join(there)}")
    chosen = {"document": checked(whole.column(name))}
    if id_name is not None:
        chosen["id"] = checked(whole.column(id_name)).cast(pa.string())
    return pa.table(chosen), id_name is not None


def numbers(value: Any, what: str) -> bytes:
    """Whole numbers of 64 bits as bytes, little-endian."""
    if hasattr(value, "__array_interface__"):
        import numpy

        if value.ndim != 1 or value.dtype.kind not in "ui":
            raise TypeError(f"{what} in a NumPy array are one row of whole numbers, not {value.dtype}")
        if value.dtype.kind == "i" and value.size and int(value.min()) < 0:
            raise ArgumentError(f"{what} are not negative; view a signed array as uint64 if it holds bits")
        return bytes(numpy.ascontiguousarray(value, dtype="<u8").tobytes())
    if is_arrow(value):
        pa = pyarrow()
        found = column(value)
        if found.null_count:
            raise ArgumentError(f"{what} have {found.null_count} nulls; drop them first")
        if not pa.types.is_integer(found.type):
            raise TypeError(f"{what} in an Arrow array are whole numbers, not {found.type}")
        found = found.cast(pa.uint64())
        parts = [chunk.buffers()[1][chunk.offset * 8 : (chunk.offset + len(chunk)) * 8] for chunk in found.chunks if len(chunk)]
        return b"".join(part.to_pybytes() for part in parts)
    try:
        held = array("Q", value)
    except OverflowError as error:
        raise ArgumentError(f"{what} are from 0 to 2**64 - 1") from error
    if sys.byteorder == "big":
        held.byteswap()
    return held.tobytes()


def unpacked(data: bytes) -> "array[int]":
    """What :func:`numbers` packed."""
    held = array("Q")
    held.frombytes(data)
    if sys.byteorder == "big":
        held.byteswap()
    return held
