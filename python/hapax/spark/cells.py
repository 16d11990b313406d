"""New pages joined with stored ones by confirmed similarity: pages are mapped to machines by length.

::

    stored --place--> the machine of its cell ------\\
                                                     compare --> new, stored, similarity
    new ----send----> machines of cells it can meet-/

A path of its own to candidates, beside the keys of :func:`hapax.spark.dedup`: **lengths bound the Jaccard similarity
of shingles, not the distance of SimHash fingerprints**, and neither can stand in for the other. Every pair with at
least the asked similarity is given once, with that similarity; there are two bounds:

- ``exact`` counts lengths in the compared sets and asks the cells of all languages. Nothing is lost.
- ``sampled`` is the paper's: lengths of words, tau, and rho from the deviations of a sample, within a language. It
  sends less and loses pairs that do not keep to it; :func:`recall_by_length` measures how many. (Tau without rho
  loses more: words follow shingles only about.)

The mapping is the file of ``hapax partition learn`` or of :func:`learn_mapping`; its machines are the tasks. Steps
are in Rust (``python/src/cells.rs``); Spark moves rows. Source: Zhu et al. 2012, section 4.
"""

from __future__ import annotations

import functools
import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from .batch import BODIES, check_columns, check_executors, id_column
from .job import spread
from .steps import Batches, Step
from .._arrow import checked
from .._hapax import CellsCore, FingerprinterCore, learn_cells
from ..errors import ArgumentError, HapaxError, RecipeMismatchError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Columns of pages on their way to a machine, of stored pages in their cells, and of pairs.
TRAVELLING = (
    "machine int, cells array<int>, id string, language string, lengths array<int>, features binary, new boolean, placed_by string"
)
PLACED = ("machine", "cell", "id", "language", "lengths", "features", "placed_by")
PAIRS = "new string, stored string, similarity double"
#: Columns of documents that are markup.
MARKUP = ("html", "raw_html", "page_html")
#: Under this key a placed table says in its schema what it was placed by.
PLACED_BY = "hapax.placed_by"


class LengthMapping:
    """Which machine pages of which lengths live on: the text of a mapping's file."""

    def __init__(self, text: str, path: Optional[str] = None) -> None:
        #: TOML, as ``hapax partition learn`` writes it.
        self.text = text
        #: Where it was read.
        self.path = path

    @classmethod
    def read(cls, path: Union[str, "os.PathLike[str]"]) -> LengthMapping:
        """Reads a file on the driver."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read(), os.fspath(path))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)


class Recall(NamedTuple):
    """What a bound finds in a sample."""

    #: Pairs that are at least so much alike, by comparison with everything.
    pairs: int
    #: Those of them that are brought together.
    found: int

    @property
    def share(self) -> float:
        """Found of all; 1 of none."""
        return self.found / self.pairs if self.pairs else 1.0


MappingLike = Union[LengthMapping, str, "os.PathLike[str]"]


def join_by_length(
    new: "DataFrame",
    stored: "DataFrame",
    mapping: MappingLike,
    *,
    min_similarity: Optional[float] = None,
    bound: str = "exact",
    recipe: str = "web-2",
    frequencies: Optional[str] = None,
    main_content: bool = False,
    **fields: Optional[str],
) -> "DataFrame":
    """Pairs of a new and a stored page whose shingles have at least this Jaccard similarity: a DataFrame of ``new``,
    ``stored`` and ``similarity``, every pair once.

    ``new`` and ``stored`` are DataFrames of documents; ``stored`` may be what :func:`place_by_length` made of them,
    which is not read and cut into shingles again. ``fields`` are ``id_field``, ``url_field``, ``html_field`` and
    ``text_field``, where columns have no usual names. ``min_similarity`` is the mapping's tau unless it is given. Pages
    without words are like nothing. An id on several rows stands for all of them: the highest similarity counts.
    """
    from pyspark.sql import functions as F

    side = Side(mapping, min_similarity, bound, recipe, frequencies, main_content)
    rows, kind = documents(new, "new", fields)
    placed = is_placed(stored)
    core = side.core(kind)
    if placed:
        check_placed(stored, core)
    else:
        stored_rows, stored_kind = documents(stored, "stored", fields)
    check_executors(new.sparkSession)
    sent = rows.mapInArrow(each(side.text(kind), "send"), TRAVELLING)
    if placed:
        home = stored.selectExpr(
            "machine", "array(cell) as cells", "id", "language", "lengths", "features", "false as new", "placed_by"
        )
    else:
        home = stored_rows.mapInArrow(each(side.text(stored_kind), "place"), TRAVELLING)
    met = spread(sent.unionByName(home), core.machines, "machine").mapInArrow(compare(side.text(kind)), PAIRS)
    return met.groupBy("new", "stored").agg(F.max("similarity").alias("similarity"))


def place_by_length(
    stored: "DataFrame",
    mapping: MappingLike,
    *,
    bound: str = "exact",
    recipe: str = "web-2",
    frequencies: Optional[str] = None,
    main_content: bool = False,
    **fields: Optional[str],
) -> "DataFrame":
    """Stored pages with their machines, cells and shingles: a DataFrame to be kept, best ``partitionBy("machine")``,
    and joined with every new crawl by :func:`join_by_length`."""
    from pyspark.sql import functions as F

    side = Side(mapping, None, bound, recipe, frequencies, main_content)
    rows, kind = documents(stored, "stored", fields)
    core = side.core(kind)
    check_executors(stored.sparkSession)
    placed = rows.mapInArrow(each(side.text(kind), "place"), TRAVELLING).withColumn("cell", F.col("cells")[0])
    mark = F.col("placed_by").alias("placed_by", metadata={PLACED_BY: core.placed_by})
    return placed.select(*PLACED[:-1], mark)


def learn_mapping(
    sample: "DataFrame",
    *,
    machines: int,
    dimensions: int = 3,
    tau: float = 0.8,
    rho: Optional[float] = None,
    by_language: bool = True,
    pages: int = 50_000,
    recipe: str = "web-2",
    frequencies: Optional[str] = None,
    main_content: bool = False,
    **fields: Optional[str],
) -> LengthMapping:
    """Learns a mapping on the driver from at most so many ``pages`` of a DataFrame, as ``hapax partition learn`` does.

    Without ``rho`` it follows from the sample. For the exact bound ``by_language=False`` sends fewer rows.
    """
    by = FingerprinterCore(recipe, frequencies, main_content)
    batches, kind = collected(sample, fields, pages)
    return LengthMapping(learn_cells(by, batches, kind, (dimensions, machines, tau, rho, by_language)))


def recall_by_length(
    sample: "DataFrame",
    mapping: MappingLike,
    *,
    min_similarity: Optional[float] = None,
    bound: str = "sampled",
    pages: int = 5_000,
    recipe: str = "web-2",
    frequencies: Optional[str] = None,
    main_content: bool = False,
    **fields: Optional[str],
) -> Recall:
    """Compares at most so many ``pages`` with each other, on the driver, and says how many of the pairs that are alike
    the bound brings together. Take pages the mapping was not learnt from."""
    side = Side(mapping, min_similarity, bound, recipe, frequencies, main_content)
    batches, kind = collected(sample, fields, pages)
    return Recall(*side.core(kind).recall(batches))


class Side:
    """How pages are read and mapped, as text that executors make an engine of."""

    def __init__(
        self,
        mapping: MappingLike,
        min_similarity: Optional[float],
        bound: str,
        recipe: str,
        frequencies: Optional[str],
        main_content: bool,
    ) -> None:
        read = mapping if isinstance(mapping, LengthMapping) else LengthMapping.read(mapping)
        self._path = read.path
        self._asked = [str(recipe), frequencies, main_content, read.text, min_similarity, bound]

    def text(self, kind: str) -> str:
        """With the kind of the documents."""
        return json.dumps([*self._asked, kind])

    def core(self, kind: str) -> CellsCore:
        """The engine, here; what is wrong with the mapping is said before anything runs."""
        try:
            return engine(self.text(kind))
        except HapaxError as error:
            if error.path is None and self._path is not None:
                raise type(error)(error.reason, self._path) from error
            raise


@functools.lru_cache(maxsize=4)
def engine(text: str) -> CellsCore:
    """The engine of a side; one for each process."""
    recipe, frequencies, main_content, mapping, least, bound, kind = json.loads(text)
    return CellsCore(FingerprinterCore(recipe, frequencies, main_content), mapping, least, bound, kind)


def each(text: str, step: str) -> Step:
    """The step on every batch by itself; a page may become many rows, and a batch many."""

    def run(batches: Batches) -> Batches:
        work = getattr(engine(text), step)
        for batch in batches:
            if batch.num_rows:
                yield from work(checked(batch))

    return run


def compare(text: str) -> Step:
    """New pages of a partition against its stored ones, in whatever order they came."""

    def run(batches: Batches) -> Batches:
        held = [checked(batch) for batch in batches if batch.num_rows]
        if held:
            yield from engine(text).compare(held)

    return run


def documents(rows: Any, what: str, fields: dict[str, Optional[str]]) -> tuple[Any, str]:
    """Ids and documents of a DataFrame, and what kind they are."""
    from pyspark.sql import functions as F

    known = ("id_field", "url_field", "html_field", "text_field")
    for name in fields:
        if name not in known:
            raise ArgumentError(f"there is no option {name!r} for a join by length; columns are named by {', '.join(known)}")
    if not hasattr(rows, "mapInArrow"):
        raise ArgumentError(f"{what} is a DataFrame, not {type(rows).__name__}: read files with spark.read first")
    try:
        check_columns(rows, fields)
    except ArgumentError as error:
        raise ArgumentError(f"{what}: {error.reason}") from error
    named = [fields.get("html_field"), fields.get("text_field"), *BODIES]
    body = next(name for name in named if name is not None and name in rows.columns)
    kind = "html" if body == fields.get("html_field") or body in MARKUP else "text"
    if dict(rows.dtypes)[body] == "binary":
        kind = "bytes"
    chosen = F.col(str(id_column(rows, dict(fields)))).cast("string").alias("id")
    return rows.select(chosen, F.col(body).alias("document")), kind


def collected(sample: Any, fields: dict[str, Optional[str]], pages: int) -> tuple[list[Any], str]:
    """Some rows on the driver: always the same ones, whatever order they come in."""
    from pyspark.sql import functions as F

    rows, kind = documents(sample, "sample", fields)
    if pages < 1:
        raise ArgumentError(f"pages={pages}: at least 1")
    return checked(rows.orderBy(F.xxhash64("id"), "id").limit(pages).toArrow()).to_batches(), kind


def is_placed(rows: Any) -> bool:
    """Did :func:`place_by_length` make it?"""
    return "placed_by" in getattr(rows, "columns", ())


def check_placed(rows: Any, core: CellsCore) -> None:
    """Stored pages must lie where new ones are sent. The kernel asks every row again."""
    lacking = [name for name in PLACED if name not in rows.columns]
    if lacking:
        raise ArgumentError(f"stored: placed pages lack the column {lacking[0]!r}; place them again with place_by_length")
    by = rows.schema["placed_by"].metadata.get(PLACED_BY, core.placed_by)
    if by != core.placed_by:
        raise RecipeMismatchError(
            "stored pages were placed by another mapping, recipe or bound: place them again with place_by_length, or join them "
            "with the ones they were placed by"
        )
