"""Connected components of edges that may be more than the driver can hold.

Up to a limit of edges the driver's union-find answers at once. Beyond it the edges stay where they are:
*large-star* connects the larger neighbours of every node with its least neighbour, *small-star* the smaller
ones, and the two in turn leave a star around the least node of each component after about log(n) rounds. After
every round the edges are written, which cuts the lineage and survives the loss of machines; when count and
checksum repeat, nothing has moved.

Source: Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii, "Connected components in MapReduce and beyond", 2014.
"""

from __future__ import annotations

from typing import Any

from . import steps
from ..errors import JobError

#: More rounds than this have never been needed; without an end there would be a mistake.
MOST_ROUNDS = 60


def components(spark: Any, spec: steps.Spec, edges: Any, snapshot: Any, limit: int, partitions: int, name: str) -> Any:
    """The component of every node, known by its least node: ``node`` and ``component``."""
    forest = snapshot.stage("forest", lambda: edges.select("a", "b").mapInArrow(steps.whole(spec, "forest"), steps.EDGES))
    if forest.count() <= limit:
        return snapshot.stage(name, lambda: on_driver(spark, spec, forest))
    return snapshot.stage(name, lambda: by_stars(forest, snapshot, partitions))


def on_driver(spark: Any, spec: steps.Spec, forest: Any) -> Any:
    """Union-find where the edges are collected."""
    collected = forest.toArrow().combine_chunks().to_batches()
    if not collected:
        return spark.createDataFrame([], steps.COMPONENTS)
    import pyarrow as pa

    found = spec.engine().components(collected[0])
    return spark.createDataFrame(pa.Table.from_batches([found]), steps.COMPONENTS)


def by_stars(edges: Any, snapshot: Any, partitions: int) -> Any:
    """Large-star and small-star in turn until nothing moves."""
    from pyspark.sql import functions as F

    before, now = None, None
    edges = edges.where("a <> b")
    for number in range(MOST_ROUNDS):
        name = f"star-{number}"
        moved = small_star(large_star(edges, partitions), partitions)
        edges = snapshot.stage(name, lambda moved=moved: moved)
        if number:
            snapshot.drop(f"star-{number - 1}")
        said = edges.select(F.count("*"), F.bit_xor(F.xxhash64("a", "b"))).first()
        now = tuple(said)
        if now == before:
            break
        before = now
    else:
        raise JobError(f"components did not resolve in {MOST_ROUNDS} rounds; this is a mistake in the program")
    stars = edges.selectExpr("b as node", "a as component")
    return stars.union(stars.select(F.col("component").alias("node"), "component").distinct())


def both_ways(edges: Any) -> Any:
    return edges.selectExpr("a as node", "b as other").union(edges.selectExpr("b as node", "a as other"))


def large_star(edges: Any, partitions: int) -> Any:
    """The larger neighbours of every node, connected with the least of it and its neighbours."""
    from pyspark.sql import functions as F

    pairs = both_ways(edges).repartition(partitions, "node")
    least = pairs.groupBy("node").agg(F.min("other").alias("least"))
    joined = pairs.join(least, "node").withColumn("least", F.least("node", "least"))
    return joined.where("other > node").selectExpr("least as a", "other as b").where("a <> b").distinct()


def small_star(edges: Any, partitions: int) -> Any:
    """The smaller neighbours of every node and the node itself, connected with the least of them."""
    from pyspark.sql import functions as F

    down = edges.selectExpr("greatest(a, b) as node", "least(a, b) as other").repartition(partitions, "node")
    least = down.groupBy("node").agg(F.min("other").alias("least"))
    others = down.join(least, "node").selectExpr("least as a", "other as b")
    return others.union(least.selectExpr("least as a", "node as b")).where("a <> b").distinct()
