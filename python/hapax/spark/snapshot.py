"""Snapshots: folders that are complete, or are known not to be.

A job writes everything into ``OUT/snapshots/ID``, stage by stage, and the file ``_COMPLETE.json`` at the very
end: where that file is, all others are. Nothing is renamed, so object stores will do. A stage that Spark has
committed has a ``_SUCCESS`` in its folder; a job that is run again after it was killed takes over such stages, if
it is the same job, and starts anew otherwise.

Files are reached through Hadoop's file systems, which Spark has for every scheme it can read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
import time
from typing import Any, Callable, Iterator, Optional

from .. import errors
from ..errors import HapaxError, JobError, OutputExistsError, RecipeMismatchError

COMPLETE = "_COMPLETE.json"
JOB = "_JOB.json"
KEY = "state/key"
#: How many tasks Spark's own shuffles have.
SHUFFLES = "spark.sql.shuffle.partitions"
#: What two snapshots must share to be compared.
COMPARABLE = ("recipe", "within", "min_similarity", "keep", "scope", "frames", "languages")


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """What the engine says on an executor comes wrapped in Java's words; here it is what it was. What Spark itself refuses is a
    :class:`JobError` with the first line of it."""
    try:
        yield
    except (HapaxError, OSError):
        raise
    except Exception as error:
        raise plain(error) from None


def plain(error: Exception) -> Exception:
    """The error that an executor met, or what Spark says in one line."""
    text = str(error)
    said = re.search(r"hapax\.errors\.(\w+): ([^\n]*)", text)
    kind = getattr(errors, said.group(1), None) if said else None
    if said is not None and isinstance(kind, type) and issubclass(kind, HapaxError):
        return kind(said.group(2))
    system = re.search(r"(\w*Error): \[Errno (\d+)\] ([^\n]*): '([^'\n]*)'", text)
    if system is not None:
        return OSError(int(system.group(2)), system.group(3), system.group(4))
    if not type(error).__module__.startswith(("pyspark", "py4j")):
        return error
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    python = [line for line in lines if re.match(r"\w+(Error|Exception): ", line)]
    # A call of Java has its name in the first line, and the reason behind a colon.
    java = re.findall(r"^: (?:[\w.$]+: )?([^\n]+)", text, re.MULTILINE)
    return JobError(f"Spark could not do the job: {(python[-1:] or java or lines or ['no reason is given'])[0]}")


def table_at(spark: Any, *paths: str, schema: Any = None) -> Any:
    """A table that was written. Where a shuffle has one task, so has the table: Spark then knows that all its rows are together, and
    joins and counts without a shuffle."""
    reader = spark.read if schema is None else spark.read.schema(schema)
    rows = reader.parquet(*paths)
    return rows.coalesce(1) if spark.conf.get(SHUFFLES, None) == "1" else rows


class Store:
    """Small files and folders wherever Spark can write."""

    def __init__(self, spark: Any) -> None:
        jvm = spark.sparkContext._jvm
        # Java looks through all its archives for every part of such a name, so each is looked up once.
        self._path, self._io = jvm.org.apache.hadoop.fs.Path, jvm.org.apache.commons.io.IOUtils
        self._conf = spark.sparkContext._jsc.hadoopConfiguration()

    def _at(self, path: str) -> tuple[Any, Any]:
        at = self._path(path)
        return at.getFileSystem(self._conf), at

    def absolute(self, path: str) -> str:
        """The path with its scheme."""
        files, at = self._at(path)
        return str(files.makeQualified(at).toString())

    def exists(self, path: str) -> bool:
        files, at = self._at(path)
        return bool(files.exists(at))

    def remove(self, path: str) -> None:
        files, at = self._at(path)
        files.delete(at, True)

    def names(self, path: str) -> list[str]:
        """What is in a folder, in order; nothing when there is none."""
        files, at = self._at(path)
        if not files.exists(at):
            return []
        return sorted(status.getPath().getName() for status in files.listStatus(at))

    def files_below(self, path: str) -> list[tuple[str, int]]:
        """All files a path or pattern names, in order, and their sizes in bytes."""
        files, at = self._at(path)
        statuses: list[Any] = []
        for status in files.globStatus(at) or []:
            if status.isFile():
                statuses.append(status)
                continue
            below = files.listFiles(status.getPath(), True)
            while below.hasNext():
                statuses.append(below.next())
        found = [(str(status.getPath().toString()), int(status.getLen())) for status in statuses]
        return sorted((name, size) for name, size in found if not name.rsplit("/", 1)[1].startswith((".", "_")))

    def read(self, path: str) -> Optional[bytes]:
        """A small file; None when there is none."""
        files, at = self._at(path)
        if not files.exists(at):
            return None
        stream = files.open(at)
        try:
            return bytes(self._io.toByteArray(stream))
        finally:
            stream.close()

    def write(self, path: str, data: bytes) -> None:
        """Puts a small file in place, over whatever is there."""
        files, at = self._at(path)
        stream = files.create(at, True)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()


class Snapshot:
    """One snapshot of an output folder."""

    def __init__(self, spark: Any, out: str, name: str) -> None:
        if not name or any(sign in name for sign in "/\\") or name.startswith((".", "_")):
            raise JobError(f"{name!r} is not a valid snapshot name; use letters, digits and dashes")
        self._spark, self.store, self.name = spark, Store(spark), name
        #: How long each stage of this run took.
        self.seconds: dict[str, float] = {}
        self.path = f"{self.store.absolute(out).rstrip('/')}/snapshots/{name}"

    def at(self, name: str) -> str:
        return f"{self.path}/{name}"

    def metadata(self) -> Optional[dict[str, Any]]:
        """What a complete snapshot says of itself; None when it is not complete."""
        data = self.store.read(self.at(COMPLETE))
        return None if data is None else json.loads(data)

    def complete(self) -> dict[str, Any]:
        """What it says of itself, or an error."""
        metadata = self.metadata()
        if metadata is not None:
            return metadata
        if self.store.names(self.path):
            raise JobError(
                f"snapshot {self.path} is half-written: the job that made it has not finished. Run that job again, "
                "with the same inputs and options, and it goes on where it stopped; or delete the folder"
            )
        raise JobError(f"there is no snapshot {self.path}; make it first, or name one that is there")

    def begin(self, job: dict[str, Any]) -> Optional[dict[str, Any]]:
        """Makes room for a job. What an interrupted run of the same job left stays; what another left goes. Of
        a complete snapshot of the same job, what it says; of another job, an error, as of a folder that no job made."""
        digest = hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()
        metadata = self.metadata()
        if metadata is not None:
            if metadata["digest"] == digest:
                return metadata
            raise OutputExistsError(
                f"snapshot {self.name} is there already, made by another job: of other inputs, or with other options. "
                "Name another snapshot; for a stream whose checkpoint was lost, name a new output folder or restore the checkpoint",
                self.path,
            )
        left = self.store.read(self.at(JOB))
        if left is None and (found := self.store.names(self.path)):
            raise OutputExistsError(
                f"{self.path} holds {found[0]} and was not made by a job: it has neither {COMPLETE} nor {JOB}. Name another "
                "snapshot or output folder, or delete that folder if nobody needs it",
                self.path,
            )
        if left is None or json.loads(left).get("digest") != digest:
            self.store.remove(self.path)
            self.store.write(self.at(JOB), json.dumps({"digest": digest, **job}, sort_keys=True).encode())
        self._digest = digest
        return None

    def key(self) -> str:
        """The random key of the job, for sketches that show forged matches; a job that goes on has the one it began with."""
        path = self.at(KEY)
        stored = self.store.read(path)
        if stored is None:
            stored = secrets.token_hex(32).encode()
            self.store.write(path, stored)
        return stored.decode()

    def stage(self, name: str, make: Callable[[], Any]) -> Any:
        """A table that is made once: what a killed run has committed is taken over."""
        return self._made(self.at(f"state/{name}"), name, make)

    def output(self, name: str, make: Callable[[], Any]) -> Any:
        """A table that users read."""
        return self._made(self.at(name), name, make)

    def _made(self, path: str, name: str, make: Callable[[], Any]) -> Any:
        schema = None
        if not self.store.exists(f"{path}/_SUCCESS"):
            began = time.monotonic()
            rows = make()
            rows.write.mode("overwrite").parquet(path)
            self.seconds[name] = round(time.monotonic() - began, 2)
            # Otherwise Spark runs a job to find out.
            schema = rows.schema
        return table_at(self._spark, path, schema=schema)

    def table(self, name: str) -> Any:
        """A stage of a complete snapshot."""
        return table_at(self._spark, self.at(f"state/{name}"))

    def drop(self, name: str) -> None:
        """Removes a stage that nobody needs any more."""
        self.store.remove(self.at(f"state/{name}"))

    def finish(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Publishes it."""
        data = json.dumps({"digest": self._digest, **metadata}, indent=2).encode()
        self.store.write(self.at(COMPLETE), data)
        # As everybody else will read it.
        return dict(json.loads(data))


def check_comparable(stored: dict[str, Any], ours: dict[str, Any], path: str) -> None:
    """Refuses to compare what was made in different ways."""
    for what in COMPARABLE:
        if stored[what] != ours[what]:
            raise RecipeMismatchError(
                f"it was made with {what} {stored[what]!r}, and this job has {ours[what]!r}; use the same, or run the "
                "whole job again on all inputs",
                path,
            )
