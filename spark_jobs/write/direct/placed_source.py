"""Records placed in the driver, and written by tasks that read them from the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.config.index_keys import IndexType
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.engine.spark import SparkEngine, parallelism
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.place import Placing
from spark_jobs.write.direct.tagged import PlacedRows, by_partition, rows_of_tasks, spread_inserts
from spark_jobs.write.direct.write import write_placed_rows
from spark_jobs.write.profile import WorkloadProfile
from spark_jobs.write.routes import (
    RoutingPlan,
    number_slices,
)
from spark_jobs.write.tasks import RecordRules
from spark_jobs.write.workload import OpenWrite, Spread, Workload

MOST_PLACED_BY_DRIVER = 2_000_000
"""Rows whose keys the driver holds at once, some 100 bytes each; more are joined by Spark."""
MOST_READ_BY_TASKS = 2 << 30
"""Bytes of values that are not compressed: a task may have to look through all of them for its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSource:
    """``rows`` of the source with their buckets, by partition path."""

    open_write: OpenWrite
    source: KeyedSource
    rows: Mapping[str, PlacedRows]

    def write(self, plan: RoutingPlan, spread: Spread, rules: RecordRules) -> list[WriteStat]:
        """Write the rows by the plan, a task for each share of the buckets."""
        placed = (spread_inserts(rows, spread[path]) if path in spread else rows for path, rows in self.rows.items())
        shares = rows_of_tasks(placed, plan.tasks)
        engine = SparkEngine(self.open_write.spark)
        return write_placed_rows(engine, self.source, shares, self.open_write.context, plan.routes, rules)


def place_by_arrays(write: OpenWrite, source: KeyedSource) -> Workload | None:
    """The rows of a source with their places; None where Spark has to find these: for too many rows, or because a
    global index may move records between partitions.
    """
    kind = write.config.index_type
    recorded_alone = kind.is_global and write.config.looks_up
    too_large = source.source.rows > MOST_PLACED_BY_DRIVER or source.source.content_size > MOST_READ_BY_TASKS
    if too_large or (recorded_alone and kind is not IndexType.RECORD_INDEX):
        return None
    incoming = by_partition(source.keys())
    placing = Placing(
        engine=SparkEngine(write.spark),
        tasks=2 * parallelism(write.spark),
        config=write.config,
        table=write.table,
        context=write.context,
        incoming=incoming,
    )
    recorded = placing.recorded() if recorded_alone else None
    if recorded_alone and recorded is None:
        return None
    counts = {partition: len(keys.rows) for partition, keys in incoming.items()}
    view, replaced = write.target(counts, sorted(counts))
    slices = number_slices(view.latest_slices())
    placed = placing.place(slices, recorded)
    write.refuse_duplicates(placed.dropped)
    profile = WorkloadProfile.of_placed(placed.rows).beginning(placed.begun or {})
    return Workload(
        view=view,
        slices=slices,
        records=PlacedSource(open_write=write, source=source, rows=placed.rows),
        profile=profile,
        content_size=source.source.content_size,
        begun=placed.begun,
        replaced=replaced,
        dropped=placed.dropped,
    )
