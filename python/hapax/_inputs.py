"""Whatever holds documents, as lists of the columns that a job needs, and back in the caller's type.

:func:`given` chooses the class by what the value is; no library is imported for it. A class reads only the columns
that it is asked for, some thousand rows at a time, and ``select`` lets the caller's own library choose rows, so index,
order and types of all columns stay. Streams are copied to a folder of temporary files while they are read.
Strings are documents, never names of files.
"""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from itertools import chain, islice
from typing import Any, Callable, Optional

from ._hapax import document_columns
from .errors import ArgumentError

#: Rows, and characters of a stream, that are read at a time.
TOGETHER = 1024
CHARACTERS = 16 << 20
#: What a column may be for.
ROLES = ("html", "text", "bytes", "url", "score", "fetched", "language")

Columns = Mapping[str, list[Any]]
#: Folders that stay until the interpreter ends.
HELD: list["Scratch"] = []


def chosen(names: Sequence[str], named: Mapping[str, str]) -> dict[str, str]:
    """Which column is what: those that the caller names, others by the names that columns of files are known by."""
    for role, name in named.items():
        if name not in names:
            raise ArgumentError(f"no column {name!r} for {role}; there are: {', '.join(names)}")
    found: dict[str, str] = document_columns(list(names), dict(named))
    if "html" not in found and "text" not in found:
        raise ArgumentError(f"which column holds the documents? There are: {', '.join(names)}; name one")
    return found


def kind_of(column: str) -> str:
    """Whether a column of this name holds HTML or text."""
    return "html" if "html" in document_columns([column], {}) else "text"


def portions(values: Iterator[Any]) -> Iterator[list[Any]]:
    """Documents or dicts of a stream in lists that fit into memory, however long they are."""
    part: list[Any] = []
    size = 0
    for value in values:
        part.append(value)
        size += sum(len(it) for it in (value.values() if isinstance(value, Mapping) else [value]) if isinstance(it, (str, bytes)))
        if len(part) >= TOGETHER or size >= CHARACTERS:
            yield part
            part, size = [], 0
    if part:
        yield part


class Scratch:
    """A folder of temporary files that goes when nobody holds this object any more."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="hapax-")
        self.remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)


class Given(ABC):
    """Documents of a caller."""

    #: The names of its columns; None if it is a single column.
    names: Optional[list[str]] = None

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        """Some rows of these columns at a time, by name; a single column is called ``""``."""

    @abstractmethod
    def select(self, rows: Sequence[int]) -> Any:
        """These rows, in the caller's type."""

    def table(self, columns: Columns) -> Any:
        """A small table in the caller's type."""
        return list(zip(*columns.values()))


def given(value: Any, scratch: "Scratch") -> Given:
    """The documents of whatever a caller gives; ``scratch`` is a folder for streams."""
    for kind in type(value).__mro__:
        family = FAMILIES.get((kind.__module__.partition(".")[0], kind.__name__))
        if family is not None:
            return family(value, scratch)
    if isinstance(value, (list, tuple)):
        return Listed(value)
    if isinstance(value, Iterator):
        return Streamed(value, scratch)
    if isinstance(value, Mapping):
        raise TypeError("a dict is not a table: give pyarrow.table(it) or pandas.DataFrame(it)")
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{type(value).__name__} is one document or the name of a file: give [text], or files=path")
    found = type(value).__name__
    raise TypeError(
        f"{found} holds no documents; expected a list of str, a series, data frame, table or dataset, or an iterator of them"
    )


class Listed(Given):
    """A list or tuple of str, of bytes, or of dicts."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values
        #: The type of the first document, and its row.
        self.kind: Optional[tuple[type, int]] = None
        first = next((one for one in values if one is not None), None)
        if isinstance(first, Mapping):
            self.names = list(first)

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        for start in range(0, len(self.values), TOGETHER):
            part = list(self.values[start : start + TOGETHER])
            if self.names is None:
                self._check(part, start)
                yield {"": part}
                continue
            for row, one in enumerate(part, start):
                if not isinstance(one, Mapping):
                    raise TypeError(f"row {row} is {type(one).__name__}; expected a dict, as the first is")
            yield {name: [one.get(name) for one in part] for name in names}

    def _check(self, part: list[Any], start: int) -> None:
        for row, one in enumerate(part, start):
            if one is None:
                continue
            self.kind = self.kind or (type(one), row)
            wanted, first = self.kind
            if not issubclass(wanted, (str, bytes)):
                raise TypeError(f"row {row} is {wanted.__name__}; expected str, bytes or a dict")
            if not isinstance(one, wanted):
                raise TypeError(f"row {row} is {type(one).__name__}; expected {wanted.__name__}, as row {first} is")

    def select(self, rows: Sequence[int]) -> Any:
        chosen_rows = [self.values[row] for row in rows]
        return tuple(chosen_rows) if isinstance(self.values, tuple) else chosen_rows


class Numpy(Given):
    """A NumPy array of strings or objects."""

    def __init__(self, array: Any, scratch: "Scratch") -> None:
        if array.ndim != 1 or array.dtype.kind not in "OUST":
            raise TypeError(f"an array of {array.ndim} dimensions of {array.dtype} holds no documents; expected one of strings")
        self.array = array

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        for start in range(0, len(self.array), TOGETHER):
            yield {"": self.array[start : start + TOGETHER].tolist()}

    def select(self, rows: Sequence[int]) -> Any:
        return self.array[list(rows)]


class Pandas(Given):
    """A series or data frame of pandas; its index stays."""

    def __init__(self, frame: Any, scratch: "Scratch") -> None:
        self.frame = frame
        if hasattr(frame, "columns"):
            self.names = [name for name in frame.columns if isinstance(name, str)]

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        for name in names:
            if self.names is not None and self.names.count(name) > 1:
                raise ArgumentError(f"there are {self.names.count(name)} columns {name!r}; expected one")
        for start in range(0, len(self.frame), TOGETHER):
            part = self.frame.iloc[start : start + TOGETHER]
            yield {name: _without_nan(part if self.names is None else part[name]) for name in names}

    def select(self, rows: Sequence[int]) -> Any:
        return self.frame.iloc[list(rows)]

    def table(self, columns: Columns) -> Any:
        import pandas

        types = {"row": "int64", "kept_row": "Int64", "distance": "UInt8", "similarity": "Float32"}
        return pandas.DataFrame({name: pandas.Series(column, dtype=types.get(name, "object")) for name, column in columns.items()})


def _without_nan(series: Any) -> list[Any]:
    return [None if missing else value for value, missing in zip(series.tolist(), series.isna().tolist())]


class Polars(Given):
    """A series, data frame or lazy frame of polars."""

    def __init__(self, frame: Any, scratch: "Scratch") -> None:
        self.frame = frame
        self.lazy = hasattr(frame, "collect")
        if self.lazy or hasattr(frame, "columns"):
            self.names = list(frame.collect_schema().names())

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        if self.names is None:
            for start in range(0, len(self.frame), TOGETHER):
                yield {"": self.frame.slice(start, TOGETHER).to_list()}
            return
        needed = self.frame.select(names)
        for part in needed.collect_batches(chunk_size=TOGETHER, maintain_order=True) if self.lazy else [needed]:
            for start in range(0, len(part), TOGETHER):
                rows = part.slice(start, TOGETHER)
                yield {name: rows.get_column(name).to_list() for name in names}

    def select(self, rows: Sequence[int]) -> Any:
        if not self.lazy:
            return self.frame[list(rows)]
        import polars

        number = "row number of hapax"
        wanted = polars.lit(polars.Series(rows, dtype=polars.get_index_type())).implode()
        return self.frame.with_row_index(number).filter(polars.col(number).is_in(wanted)).drop(number)

    def table(self, columns: Columns) -> Any:
        import polars

        types = {"row": polars.Int64, "kept_row": polars.Int64, "distance": polars.UInt8, "similarity": polars.Float32}
        return polars.DataFrame(columns, schema={name: types.get(name, polars.String) for name in columns})


class Arrow(Given):
    """An array, chunked array, batch or table of pyarrow."""

    def __init__(self, table: Any, scratch: "Scratch") -> None:
        self.table_given = table
        if hasattr(table, "column_names"):
            self.names = list(table.column_names)
        elif hasattr(table, "schema"):
            self.names = list(table.schema.names)

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        from . import _arrow

        table = self.table_given
        columns = {"": table} if self.names is None else {name: table.column(name) for name in names}
        for column in columns.values():
            _arrow.checked(column)
        for start in range(0, len(table), TOGETHER):
            yield {name: column.slice(start, TOGETHER).to_pylist() for name, column in columns.items()}

    def select(self, rows: Sequence[int]) -> Any:
        import pyarrow

        try:
            return self.table_given.take(pyarrow.array(rows, pyarrow.int64()))
        except pyarrow.ArrowNotImplementedError:
            # Not every type can be taken; every one can be cut.
            return self._cut(rows)

    def _cut(self, rows: Sequence[int]) -> Any:
        import pyarrow

        table = self.table_given
        parts = [table.slice(start, length) for start, length in _runs(rows)] or [table.slice(0, 0)]
        if isinstance(table, pyarrow.Table):
            return pyarrow.concat_tables(parts)
        if isinstance(table, pyarrow.ChunkedArray):
            return pyarrow.chunked_array([chunk for part in parts for chunk in part.chunks], table.type)
        return pyarrow.concat_batches(parts) if isinstance(table, pyarrow.RecordBatch) else pyarrow.concat_arrays(parts)

    def table(self, columns: Columns) -> Any:
        import pyarrow

        types = {"row": pyarrow.int64(), "kept_row": pyarrow.int64(), "distance": pyarrow.uint8(), "similarity": pyarrow.float32()}
        return pyarrow.table({name: pyarrow.array(column, types.get(name, pyarrow.string())) for name, column in columns.items()})


def _runs(rows: Sequence[int]) -> list[tuple[int, int]]:
    """Rows that follow each other, as start and length."""
    runs: list[tuple[int, int]] = []
    for row in rows:
        if runs and row == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((row, 1))
    return runs


class ArrowDataset(Given):
    """A dataset of pyarrow, scanned again for the rows that stay, which are a dataset of temporary files."""

    def __init__(self, dataset: Any, scratch: "Scratch") -> None:
        self.dataset, self.scratch = dataset, scratch
        self.names = list(dataset.schema.names)

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        for batch in self.dataset.to_batches(columns=list(names), batch_size=TOGETHER):
            yield from Arrow(batch, self.scratch).batches(names)

    def select(self, rows: Sequence[int]) -> Any:
        import pyarrow.dataset

        path = self.scratch.path("kept.arrow")
        # The dataset opens the file whenever it is read, and nothing of it can hold the folder.
        HELD.append(self.scratch)
        with pyarrow.OSFile(path, "wb") as file, pyarrow.ipc.new_file(file, self.dataset.schema) as writer:
            for batch in _of_batches(self.dataset.to_batches(), rows, self.scratch):
                writer.write_batch(batch)
        return pyarrow.dataset.dataset(path, format="ipc")

    def table(self, columns: Columns) -> Any:
        return Arrow(None, self.scratch).table(columns)


class HuggingFace(Given):
    """A dataset of Hugging Face; ``select`` keeps its features, format and files."""

    def __init__(self, data: Any, scratch: "Scratch") -> None:
        self.data = data
        self.names = list(data.column_names)

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        for batch in self.data.select_columns(list(names)).with_format(None).iter(TOGETHER):
            yield batch

    def select(self, rows: Sequence[int]) -> Any:
        return self.data.select(list(rows))

    def table(self, columns: Columns) -> Any:
        import datasets

        return datasets.Dataset.from_dict(dict(columns))


class HuggingFaceStream(HuggingFace):
    """An iterable dataset of Hugging Face, iterated again for the rows that stay."""

    def __init__(self, data: Any, scratch: "Scratch") -> None:
        self.data = data
        self.names = list(data.column_names or next(iter(data.take(1)), {}))

    def select(self, rows: Sequence[int]) -> Any:
        wanted = frozenset(rows)
        return self.data.filter(lambda _, row: row in wanted, with_indices=True)


class HuggingFaceSplits(Given):
    """Splits of Hugging Face, one after the other: their rows are numbered on."""

    def __init__(self, splits: Any, scratch: "Scratch") -> None:
        self.splits = splits
        self.parts: dict[str, HuggingFace] = {}
        for name, part in splits.items():
            made = given(part, scratch)
            assert isinstance(made, HuggingFace)
            self.parts[name] = made
        self.names = list(dict.fromkeys(chain.from_iterable(part.names or [] for part in self.parts.values())))
        self.starts: dict[str, int] = {}

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        seen = 0
        for split, part in self.parts.items():
            self.starts[split] = seen
            there = [name for name in names if name in (part.names or [])]
            for batch in part.batches(there):
                count = len(next(iter(batch.values())))
                seen += count
                yield {name: batch.get(name) or [None] * count for name in names}

    def select(self, rows: Sequence[int]) -> Any:
        ends = [*list(self.starts.values())[1:], float("inf")]
        chosen_rows = {
            split: [row - start for row in rows if start <= row < end] for (split, start), end in zip(self.starts.items(), ends)
        }
        return type(self.splits)({split: part.select(chosen_rows[split]) for split, part in self.parts.items()})

    def table(self, columns: Columns) -> Any:
        return next(iter(self.parts.values())).table(columns)


class Streamed(Given):
    """An iterator of str, bytes or dicts, or of batches: lists, series, frames, tables."""

    def __init__(self, values: Iterator[Any], scratch: "Scratch") -> None:
        self.scratch = scratch
        # Rows without text may come first.
        seen = list(islice(values, 1))
        while seen and seen[-1] is None:
            following = list(islice(values, 1))
            if not following:
                break
            seen += following
        self.rows = bool(seen) and isinstance(seen[-1], (str, bytes, Mapping, type(None)))
        values = chain(seen, values)
        # Rows travel in lists.
        self.stream: Iterator[Any] = portions(values) if self.rows else values
        self.first: Optional[Given] = None
        batch = next(self.stream, None)
        if batch is not None:
            self.first = given(batch, scratch)
            self.names = self.first.names
            self.stream = chain([batch], self.stream)

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        with open(self.scratch.path("stream"), "wb") as file:
            for batch in self.stream:
                pickle.dump(_packed(batch), file, pickle.HIGHEST_PROTOCOL)
                yield from given(batch, self.scratch).batches(names)

    def select(self, rows: Sequence[int]) -> Any:
        kept = _of_batches(self._again(), rows, self.scratch)
        return chain.from_iterable(kept) if self.rows else kept

    def _again(self) -> Iterator[Any]:
        with open(self.scratch.path("stream"), "rb") as file:
            while True:
                try:
                    packed = pickle.load(file)
                except EOFError:
                    return
                yield _unpacked(packed)

    def table(self, columns: Columns) -> Any:
        return Listed([]).table(columns) if self.first is None else self.first.table(columns)


class ArrowReader(Streamed):
    """A reader of pyarrow, which can be read once; the rows that stay come as a reader, too."""

    def __init__(self, reader: Any, scratch: "Scratch") -> None:
        self.schema = reader.schema
        super().__init__(iter(reader), scratch)
        self.names = list(self.schema.names)

    def select(self, rows: Sequence[int]) -> Any:
        import pyarrow

        return pyarrow.RecordBatchReader.from_batches(self.schema, super().select(rows))

    def table(self, columns: Columns) -> Any:
        return Arrow(None, self.scratch).table(columns)


def _of_batches(batches: Iterator[Any], rows: Sequence[int], scratch: "Scratch") -> Iterator[Any]:
    """The rows, numbered through all batches, of each batch that has some; ``rows`` ascend."""
    at, start = 0, 0
    for batch in batches:
        end, first = start + len(batch), at
        while at < len(rows) and rows[at] < end:
            at += 1
        if at > first:
            yield given(batch, scratch).select([row - start for row in rows[first:at]])
        start = end


def _packed(batch: Any) -> tuple[str, Any]:
    """A batch as it is pickled. Of pyarrow's only the rows it has, which the pickle of a slice exceeds."""
    name = type(batch).__name__
    if type(batch).__module__.partition(".")[0] != "pyarrow" or name not in ("Table", "RecordBatch"):
        return "", batch
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write(batch)
    return name, sink.getvalue().to_pybytes()


def _unpacked(packed: tuple[str, Any]) -> Any:
    name, batch = packed
    if not name:
        return batch
    import pyarrow

    with pyarrow.ipc.open_stream(batch) as reader:
        return reader.read_all() if name == "Table" else reader.read_next_batch()


def seconds(value: Any) -> Any:
    """A time as a number or text that files may have; others as they are."""
    if isinstance(value, datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp())
    return value.isoformat() if isinstance(value, date) else value


#: By library and class.
FAMILIES: dict[tuple[str, str], Callable[[Any, Scratch], Given]] = {
    ("numpy", "ndarray"): Numpy,
    ("pandas", "Series"): Pandas,
    ("pandas", "DataFrame"): Pandas,
    ("polars", "Series"): Polars,
    ("polars", "DataFrame"): Polars,
    ("polars", "LazyFrame"): Polars,
    ("pyarrow", "Array"): Arrow,
    ("pyarrow", "ChunkedArray"): Arrow,
    ("pyarrow", "RecordBatch"): Arrow,
    ("pyarrow", "Table"): Arrow,
    ("pyarrow", "RecordBatchReader"): ArrowReader,
    ("pyarrow", "Dataset"): ArrowDataset,
    ("datasets", "Dataset"): HuggingFace,
    ("datasets", "IterableDataset"): HuggingFaceStream,
    ("datasets", "DatasetDict"): HuggingFaceSplits,
    ("datasets", "IterableDatasetDict"): HuggingFaceSplits,
}
