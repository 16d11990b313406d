"""The engine's steps as functions that Spark can ship: Arrow batches in, Arrow batches out.

A step either works on every batch by itself, or needs all rows of a partition at once: then the rows that must
match have been brought together by a key, and the step sorts them itself. Nothing here trusts the order in which
rows arrive. No algorithm lives here: what a step does is said in ``hapax_dedup::distributed``.

A :class:`Spec` is everything that executors need to know to make the same engine; it travels as text.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
from typing import Any, Callable, Iterator, Optional
from urllib.parse import quote

from .._arrow import checked
from .._hapax import FingerprinterCore, StepsCore, __version__

Batches = Iterator[Any]
Step = Callable[[Batches], Batches]

#: Columns of the rows between the steps, as Spark writes schemas.
SIGNATURES = "part long, number long, kind long, file string, record long, bucket long, status long, says string, page binary, host long, text long, pieces binary"
NAMES = "position long, address string, url string, own_id string, content binary"
COPIES = "role long, position long, target long, distance long, similarity float, scope long, fingerprint long, sketch binary, keyed binary, own binary"
HOST_PAGES = "position long, host long, text long, pieces binary, pages long"
FRAMES = "host long, pages long, pieces binary"
OWNS = "position long, host long, own binary"
SUSPECTS = "position long, bucket long"
ROLES = "role long, position long, target long, distance long, similarity float, named boolean, page binary, own binary, bucket long"
BUCKETS = "bucket long, count long"
SAMPLE = "scope long, fingerprint long"
COUNTS = "scope long, query long, distance long, count long"
SATURATED = "position long, saturated boolean"
KEYS = "task long, packed binary, records long"
CANDIDATES = "a long, b long, distance long"
PAIRS = "a long, b long, distance long, similarity float, alike boolean"
EDGES = "a long, b long"
COMPONENTS = "node long, component long"
VERDICTS = "position long, winner long, winner_id string, outcome string, distance long, similarity float, rule string, reason string, rank long, own_similarity float"
GROUPS = (
    "position long, document string, url string, group long, winner string, earlier boolean, outcome string, "
    "distance long, similarity float, rule string, reason string, file string, record long, rank long, own_similarity float, own_words long"
)
KEPT = "part long, file string, documents long"
FOLDERS = "folder string"
ORIGINS = "name string, documents long, exact long, near long"
TEXTS = "part long, number long, words long, title string, text string, cut boolean"


class Spec:
    """How documents are read and compared, as text that executors make an engine of."""

    def __init__(
        self, recipe: str, frequencies: Optional[str], main_content: bool, asked: dict[str, Any], key: Optional[str] = None
    ) -> None:
        self.text = json.dumps([recipe, frequencies, main_content, asked, key], sort_keys=True)

    def with_key(self, key: Optional[str]) -> "Spec":
        """The same, with sketches under a key that shows forged matches."""
        recipe, frequencies, main_content, asked, _ = json.loads(self.text)
        return Spec(recipe, frequencies, main_content, asked, key)

    @property
    def key(self) -> Optional[str]:
        key: Optional[str] = json.loads(self.text)[4]
        return key

    def engine(self) -> StepsCore:
        return engine(self.text)


@functools.lru_cache(maxsize=4)
def engine(text: str) -> StepsCore:
    """The engine of a spec; one for each process."""
    recipe, frequencies, main_content, asked, key = json.loads(text)
    return StepsCore(FingerprinterCore(recipe, frequencies, main_content), asked, key)


def each(spec: Spec, step: str, *arguments: Any) -> Step:
    """The step on every batch by itself."""
    text = spec.text

    def run(batches: Batches) -> Batches:
        work = getattr(engine(text), step)
        for batch in batches:
            if batch.num_rows:
                yield work(checked(batch), *arguments)

    return run


def whole(spec: Spec, step: str, *arguments: Any) -> Step:
    """The step on all rows of a partition at once. An argument of bytes is another batch, which travels as an Arrow stream."""
    text = spec.text

    def run(batches: Batches) -> Batches:
        rows = together(batches)
        if rows is not None:
            given = (stream_batch(it) if isinstance(it, bytes) else it for it in arguments)
            yield getattr(engine(text), step)(rows, *given)

    return run


def learn_frames(spec: Spec) -> Step:
    """Pages that are counted, sorted by host, to the frames of hosts."""
    text = spec.text

    def run(batches: Batches) -> Batches:
        core = engine(text).learn_frames()
        for batch in batches:
            yield core.add(checked(batch))
        yield core.finish()

    return run


def own_texts(spec: Spec) -> Step:
    """Pages behind the frames of their hosts, to their own texts."""
    text = spec.text

    def run(batches: Batches) -> Batches:
        core = engine(text).own_texts()
        for batch in batches:
            yield core.next(checked(batch))

    return run


def signature(spec: Spec, inputs: list[str], files: int) -> Step:
    """Work items to signatures. An item is a part of the inputs, or a file elsewhere that is fetched first."""
    text = spec.text

    def run(batches: Batches) -> Batches:
        core = engine(text)
        for batch in batches:
            for item in batch.to_pylist():
                if item["fetch"]:
                    with Fetched(item["file"]) as path:
                        yield from core.signature_copy(path, item["file"], item["part"])
                else:
                    yield from core.signature(inputs, item["part"], files, item["file"])

    return run


def write_kept(spec: Spec, inputs: list[str], files: int, folder: str, ending: str) -> Step:
    """Work items with the documents that go, to files of those that stay."""
    text = spec.text

    def run(batches: Batches) -> Batches:
        import pyarrow as pa

        core = engine(text)
        for batch in batches:
            for item in batch.to_pylist():
                name = f"part-{item['part']:06d}.{ending}"
                removed, documents = sorted(item["removed"] or []), item["documents"]
                with Placed(folder, name) as path:
                    if item["fetch"]:
                        with Fetched(item["file"]) as source:
                            kept = core.write_part([source], 0, 1, source, removed, documents, path)
                    else:
                        kept = core.write_part(inputs, item["part"], files, item["file"], removed, documents, path)
                yield pa.RecordBatch.from_pydict({"part": [item["part"]], "file": [name], "documents": [kept]})

    return run


def write_signatures(spec: Spec, folder: str) -> Step:
    """Rows with ``task`` and pages that stay, to files of signatures."""
    text = spec.text

    def run(batches: Batches) -> Batches:
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = together(batches)
        if rows is None:
            return
        for task in sorted(pc.unique(rows.column("task")).to_pylist()):
            name = f"part-{task:06d}.signatures"
            with Placed(folder, name) as path:
                some = rows.filter(pc.equal(rows.column("task"), task))
                written = engine(text).write_signatures(some, path)
            yield pa.RecordBatch.from_pydict({"part": [task], "file": [name], "documents": [written]})

    return run


def common_folder(spec: Spec) -> Step:
    """Group rows to the folders that are common to those without an address, one for every batch."""
    text = spec.text

    def run(batches: Batches) -> Batches:
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows and (folder := engine(text).common_folder(batch)) is not None:
                yield pa.RecordBatch.from_pydict({"folder": [folder]})

    return run


def example_texts(spec: Spec, inputs: list[str], files: int) -> Step:
    """Work items with the documents that are ``wanted``, to their texts."""
    text = spec.text

    def run(batches: Batches) -> Batches:
        import pyarrow as pa

        core = engine(text)
        for batch in batches:
            for item in batch.to_pylist():
                wanted = sorted(item["wanted"])
                if item["fetch"]:
                    with Fetched(item["file"]) as source:
                        found = core.example_texts([source], 0, 1, source, wanted)
                else:
                    found = core.example_texts(inputs, item["part"], files, item["file"], wanted)
                yield found.add_column(0, "part", pa.array([item["part"]] * found.num_rows, pa.int64()))

    return run


def probe(batches: Batches) -> Batches:
    """Which version an executor has."""
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_pydict({"version": [__version__] * batch.num_rows})


def together(batches: Batches) -> Any:
    """All rows of a partition as one batch; None of none."""
    import pyarrow as pa

    table = None
    held = [checked(batch) for batch in batches if batch.num_rows]
    if held:
        table = pa.Table.from_batches(held).combine_chunks().to_batches()
        if len(table) != 1:
            raise ValueError("the rows of a task take more than 2 GB; run the job with more partitions=")
    return table[0] if table else None


def stream_bytes(batch: Any) -> bytes:
    """A batch as bytes."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def stream_batch(data: bytes) -> Any:
    """What :func:`stream_bytes` made."""
    import pyarrow as pa

    return pa.ipc.open_stream(data).read_all().combine_chunks().to_batches()[0]


def local_path(uri: str) -> Optional[str]:
    """The path of a file on this machine; None for one elsewhere."""
    if uri.startswith("file:"):
        return "/" + uri[len("file:") :].lstrip("/")
    return None if "://" in uri else uri


def reads_itself(uri: str) -> bool:
    """Is this the address of something that the engine reads where it is, by the credentials of every machine?"""
    return uri.partition("://")[0] in ("s3", "az", "hf", "http", "https")


def store_of(uri: str) -> tuple[Any, str]:
    """The file system of a URI, as pyarrow knows it, and the path there."""
    from pyarrow import fs

    found, path = fs.FileSystem.from_uri(literal(uri))
    return found, path


def literal(uri: str) -> str:
    """A URI as Hadoop writes it, for pyarrow, which unescapes paths and takes what follows a question mark for
    options, such as the host that credentials are sent to. In the names of a listing such signs mean nothing."""
    scheme, _, rest = uri.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{ {'s3a': 's3', 's3n': 's3'}.get(scheme, scheme) }://{authority}{slash}{quote(path)}"


class Fetched:
    """A file from elsewhere, on this machine while it is needed; what the engine reads itself stays where it is."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None

    def __enter__(self) -> str:
        if reads_itself(self._uri):
            return self._uri
        store, path = store_of(self._uri)
        self._folder = tempfile.TemporaryDirectory(prefix="hapax-")
        local = os.path.join(self._folder.name, os.path.basename(path))
        with store.open_input_stream(path, compression=None) as source, open(local, "wb") as target:
            while chunk := source.read(1 << 22):
                target.write(chunk)
        return local

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()


class Placed:
    """A file on this machine that is put where it belongs when it is complete."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder, self._name = folder, name
        self._scratch: Optional[tempfile.TemporaryDirectory[str]] = None

    def __enter__(self) -> str:
        local = local_path(self._folder)
        if local is not None:
            os.makedirs(local, exist_ok=True)
            return os.path.join(local, self._name)
        self._scratch = tempfile.TemporaryDirectory(prefix="hapax-")
        return os.path.join(self._scratch.name, self._name)

    def __exit__(self, failed: Any, *_: object) -> None:
        if self._scratch is None:
            return
        if failed is None:
            store, path = store_of(self._folder)
            with open(os.path.join(self._scratch.name, self._name), "rb") as source:
                with store.open_output_stream(f"{path}/{self._name}") as target:
                    while chunk := source.read(1 << 22):
                        target.write(chunk)
        self._scratch.cleanup()
