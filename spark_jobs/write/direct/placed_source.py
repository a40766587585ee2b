"""Records placed in the driver, and written by tasks that read them from the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from spark_jobs.core.config.keys.bloom import BLOOM_PARALLELISM
from spark_jobs.core.config.keys.write import DRIVER_ROWS
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.exchanged import place_exchanged, tasks_for_all
from spark_jobs.write.direct.globally import GlobalRows, GlobalRules, GlobalSearch, IncomingKeys, index_of
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.place import Placing
from spark_jobs.write.direct.source import RowRange, RowSource
from spark_jobs.write.direct.tagged import (
    NEW,
    PlacedRows,
    by_partition,
    count_by_bucket,
    rows_of_shares,
    rows_of_tasks,
    spread_inserts,
)
from spark_jobs.write.direct.unseen import place_unseen
from spark_jobs.write.direct.write import Homes, exchange_placed_rows, write_placed_rows
from spark_jobs.write.profile import WorkloadProfile
from spark_jobs.write.routes import (
    RoutingPlan,
    number_slices,
)
from spark_jobs.write.tasks import RecordRules
from spark_jobs.write.workload import OpenWrite, Spread, Workload

UNSEEN_FOR_ONE = 8
"""Of rows whose keys are not looked up the driver holds partition, hash and bucket: so many times as many."""
FEW_ROWS = 100_000
"""Sooner read by the driver than by tasks."""
MOST_READ_AGAIN = 512 << 20
"""Bytes of values, not compressed, that all tasks together look through for their rows; else each is read once, and
sent to its task.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSource:
    """``rows`` of the source with their buckets, by the partition path where they are written; ``moves`` says whether
    records leave another one for it, None that none is in another than it comes with.
    """

    open_write: OpenWrite
    source: KeyedSource
    rows: Mapping[str, PlacedRows]
    moves: bool | None = None

    def write(self, plan: RoutingPlan, spread: Spread, rules: RecordRules) -> list[WriteStat]:
        """Write the rows by the plan, a task for each share of the buckets."""
        by_key = self.open_write.config.combine
        spread_out = {
            path: spread_inserts(rows, spread[path], by_key=by_key) if path in spread else rows
            for path, rows in self.rows.items()
        }
        placed, homes = spread_out.values(), self._homes(spread_out)
        engine, context, source = self.open_write.engine, self.open_write.context, self.source.source
        if plan.tasks * source.content_size <= MOST_READ_AGAIN:
            tasks = rows_of_tasks(placed, plan.tasks)
            return write_placed_rows(engine, self.source, tasks, context, plan.routes, rules, homes)
        shares = source.aligned_shares(tasks_for_all(engine, source))
        rows = rows_of_shares(placed, [0, *(share.stop for share in shares)])
        pieces = [(share, *own) for share, own in zip(shares, rows, strict=True)]
        return exchange_placed_rows(engine, self.source, pieces, plan.tasks, context, plan.routes, rules, homes)

    def _homes(self, placed: Mapping[str, PlacedRows]) -> Homes | None:
        if self.moves is None:
            return None
        found = {number: path for path, rows in placed.items() for number in np.unique(rows.buckets).tolist()}
        return Homes(partition_of=found, moves=self.moves)


def place_by_arrays(write: OpenWrite, source: KeyedSource) -> Workload:
    """The rows of a source with their places."""
    config = write.config
    takes_any = _takes_any_place(config) and not (config.index_type.is_global and config.combine)
    if source.source.rows > DRIVER_ROWS.of(config.properties) * (UNSEEN_FOR_ONE if takes_any else 1):
        return place_exchanged(write, source)
    if config.index_type.is_global and (config.looks_up or config.combine):
        return _globally(write, source)
    if _takes_any_place(config) and source.source.rows > FEW_ROWS:
        return _unseen(write, source)
    return _looked_up(write, source)


def _takes_any_place(config: WriteConfig) -> bool:
    """Whether no record has a place of its own, by its key or because the table has it."""
    return not config.looks_up and not config.index_type.places_by_key


def _tasks(write: OpenWrite) -> int:
    """How many look into files."""
    by_bloom = write.config.index_type.by_bloom
    asked = BLOOM_PARALLELISM.of(write.config.properties) if by_bloom else 0
    return asked or 2 * write.engine.slots


def _unseen(write: OpenWrite, source: KeyedSource) -> Workload:
    rows = place_unseen(write.engine, source, tasks_for_all(write.engine, source.source))
    view, replaced = write.target({path: len(one.rows) for path, one in rows.items()}, sorted(rows))
    return Workload(
        view=view,
        slices=number_slices(write.table.slices_to_read(view)),
        records=PlacedSource(open_write=write, source=source, rows=rows),
        profile=_profile_of(rows, combine=write.config.combine),
        content_size=source.source.content_size,
        begun=None,
        replaced=replaced,
        dropped=0,
    )


def _globally(write: OpenWrite, source: KeyedSource) -> Workload:
    config = write.config
    kind, index = index_of(config, write.table)
    rules = GlobalRules.of(config, kind, write.context.payload, source.source.schema)
    if config.looks_up and rules.moves and not rules.replaces:
        return place_exchanged(write, source)  # where records that leave their partition are merged
    if kind is not config.index_type:
        write.progress.note(f"the table has no record index: looking keys up by {kind.value}")
    everything = RowRange(0, source.source.rows)
    incoming = IncomingKeys.of(source.keys(everything))
    search = GlobalSearch(
        engine=write.engine,
        tasks=_tasks(write),
        config=config,
        table=write.table,
        context=write.context,
        keys=incoming.keys,
        kind=kind,
        moves=rules.moves,
    )
    recorded, counts = search.recorded(index), incoming.counts()
    partitions: list[str] | None = sorted(counts)
    if recorded is not None:
        partitions = sorted({*counts, *recorded.column("partition").unique().to_pylist()})
    elif config.looks_up:
        partitions = None
    view, replaced = write.target(counts, partitions)
    slices = number_slices(write.table.slices_to_read(view))
    at = search.stored(slices, recorded)
    dropped = 0
    if rules.drops_known:
        dropped = int((at[incoming.places] != NEW).sum())
        write.refuse_duplicates(dropped)
    here = GlobalRows(rules=rules, incoming=incoming, column=partial(_column, source.source))
    rows = here.placed({number: one.partition for number, one in slices.items()}, at, here.kept(at))
    return Workload(
        view=view,
        slices=slices,
        records=PlacedSource(open_write=write, source=source, rows=rows, moves=rules.moves),
        profile=_profile_of(rows, combine=config.combine),
        content_size=source.source.content_size,
        begun=None,
        replaced=replaced,
        dropped=dropped,
    )


def _column(source: RowSource, name: str) -> pa.ChunkedArray:
    batches = source.read(RowRange(0, source.rows), [name])
    return pa.Table.from_batches(batches, pa.schema([source.schema.field(name)])).column(0)


def _looked_up(write: OpenWrite, source: KeyedSource) -> Workload:
    incoming = by_partition(source.keys(RowRange(0, source.source.rows)))
    placing = Placing(
        engine=write.engine,
        tasks=_tasks(write),
        config=write.config,
        table=write.table,
        context=write.context,
        incoming=incoming,
    )
    counts = {partition: len(keys.rows) for partition, keys in incoming.items()}
    view, replaced = write.target(counts, sorted(counts))
    slices = number_slices(write.table.slices_to_read(view))
    placed = placing.place(slices)
    write.refuse_duplicates(placed.dropped)
    profile = _profile_of(placed.rows, combine=write.config.combine).beginning(placed.begun or {})
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


def _profile_of(placed: Mapping[str, PlacedRows], *, combine: bool) -> WorkloadProfile:
    """Of rows with their buckets, by partition path; with ``combine`` those of one key count once."""
    updates: dict[int, int] = {}
    inserts: dict[str, int] = {}
    partition_of: dict[int, str] = {}
    for partition, rows in placed.items():
        for bucket, count in count_by_bucket(rows, by_key=combine).items():
            if bucket == NEW:
                inserts[partition] = count
            else:
                updates[bucket], partition_of[bucket] = count, partition
    return WorkloadProfile(updates, inserts, partition_of)
