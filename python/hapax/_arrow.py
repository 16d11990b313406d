"""Columns and numbers in whatever form they come, in the form the engine takes.

Arrow data is never copied here: arrays, chunked arrays and series of pandas and polars become a table of one
column through the Arrow PyCapsule protocol, and the table's stream is what the engine reads. The engine takes text
for UTF-8 and offsets for true, and sizes of buffers do not cross that protocol: :func:`checked` is asked before.
"""

from __future__ import annotations

import sys
from array import array
from typing import Any, Optional

from . import _inputs
from .errors import ArgumentError, ArrowError


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


def documents(value: Any, kind: Optional[str], name: Optional[str], id_name: Optional[str] = None) -> Any:
    """A table of documents in columns that are called what they hold (``html``, ``text``, ``bytes``), and of ``id`` if it is
    asked for."""
    pa = pyarrow()
    if not is_table(value):
        if name is not None or id_name is not None:
            raise ArgumentError("column= and id= name columns of a table; this is a single column")
        return pa.table({kind or "text": readable(column(value))})
    there = names_of(value)
    if id_name is not None and id_name not in there:
        raise ArgumentError(f"no column {id_name!r} for id; there are: {', '.join(there)}")
    if name is not None:
        found = _inputs.chosen(there, {kind if kind == "html" else "text": name})
        roles = {kind or _inputs.kind_of(name): found["html" if kind == "html" else "text"]}
    else:
        found = _inputs.chosen(there, {})
        roles = {role: found[role] for role in ("html", "text") if role in found}
        if kind is not None:
            # What is said of one column is not said of two.
            roles = {kind: roles.get(kind) or next(iter(roles.values()))}
    if id_name is not None:
        roles["id"] = id_name
    # Other columns may be of types that cannot leave their library.
    needed = list(dict.fromkeys(roles.values()))
    whole = table(value[needed] if hasattr(value, "iloc") else value.select(needed))
    chosen = {role: readable(whole.column(name)) for role, name in roles.items()}
    if "id" in chosen:
        chosen["id"] = chosen["id"].cast(pa.string())
    return pa.table(chosen)


def names_of(value: Any) -> list[str]:
    """The columns of a table or data frame."""
    names = value.column_names if hasattr(value, "column_names") else value.columns
    return [name for name in names if isinstance(name, str)]


def readable(array: Any) -> Any:
    """A column that the engine reads: checked, and without a dictionary."""
    pa = pyarrow()
    if not pa.types.is_dictionary(checked(array).type):
        return array
    try:
        return array.cast(array.type.value_type)
    except pa.ArrowNotImplementedError:
        # Of views, as polars has them.
        return pa.chunked_array([pa.array(array.to_pylist(), pa.large_string())])


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
