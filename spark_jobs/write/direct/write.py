"""The tasks of a write whose source they read themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.schema.meta_fields import IS_DELETED, PARTITION_PATH
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.engine.protocol import Engine
from spark_jobs.write.direct.globally import deletes_of, has_deletes
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.source import RowRange, RowSource
from spark_jobs.write.direct.tagged import Buckets, Numbers, Offsets
from spark_jobs.write.routes import Route
from spark_jobs.write.tasks import BUCKET, MOVED, RecordRules, bulk_insert_batches, cut_by_bucket, write_buckets

Piece: TypeAlias = tuple[RowRange, Offsets, Buckets]
"""A range of a source, with rows as offsets in it, ascending, and their buckets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Homes:
    """The partition of each bucket, where a global index has records in other partitions than they come with; with
    ``moves`` they leave those, else they stay.
    """

    partition_of: Mapping[int, str]
    moves: bool

    def settle(self, rows: pa.Table) -> pa.Table:
        """Rows with their buckets, each in the partition of its bucket; one that another one of its key has left stands
        for the removal.
        """
        numbers = list(self.partition_of)
        home = pa.array([self.partition_of[number] for number in numbers], pa.string())
        buckets = rows.column(BUCKET).combine_chunks()
        at = home.take(pc.index_in(buckets, value_set=pa.array(numbers, buckets.type)))
        index = rows.schema.get_field_index(PARTITION_PATH)
        settled = rows.set_column(index, PARTITION_PATH, at)
        if not self.moves:
            return settled
        left = pc.not_equal(at, rows.column(PARTITION_PATH).combine_chunks())
        if has_deletes(rows.schema):
            left = pc.and_(left, pa.array(~deletes_of(rows.column(IS_DELETED))))
        return settled.append_column(MOVED, left)


def bulk_insert_rows(
    engine: Engine, keyed: KeyedSource, tasks: int, context: WriteContext, seed: str, rules: RecordRules
) -> list[WriteStat]:
    """Write all rows to new file groups, an even share of them in each task."""

    def work(share: RowRange, scope: TaskScope) -> list[WriteStat]:
        return list(bulk_insert_batches(keyed.read(share), context, scope, seed, rules))

    return [stat for some in engine.run_each(keyed.source.shares(tasks), work) for stat in some]


def write_placed_rows(
    engine: Engine,
    keyed: KeyedSource,
    shares: Sequence[tuple[Numbers, Numbers]],
    context: WriteContext,
    routes: Mapping[int, Route],
    rules: RecordRules,
    homes: Homes | None = None,
) -> list[WriteStat]:
    """Write rows to their buckets.

    :param shares: of each task the row numbers and their buckets, sorted by bucket; a task holds its rows in memory.
    """

    def work(share: tuple[Numbers, Numbers], scope: TaskScope) -> list[WriteStat]:
        rows, buckets = share
        needed, order = np.unique(rows, return_inverse=True)
        table = keyed.take(needed).take(pa.array(order)).append_column(BUCKET, pa.array(buckets.astype(np.int32)))
        table = table if homes is None else homes.settle(table)
        return list(write_buckets(iter(table.combine_chunks().to_batches()), context, scope, routes, rules))

    return [stat for some in engine.run_each([one for one in shares if len(one[0])], work) for stat in some]


def exchange_placed_rows(
    engine: Engine,
    keyed: KeyedSource,
    pieces: Sequence[Piece],
    tasks: int,
    context: WriteContext,
    routes: Mapping[int, Route],
    rules: RecordRules,
    homes: Homes | None = None,
) -> list[WriteStat]:
    """The same where rows of a task stand all over a large source: each is read once and sent to its task.

    :param pieces: ranges of the source, with the rows of each as offsets, ascending, and their buckets.
    """

    def work(blocks: list[pa.RecordBatch], scope: TaskScope) -> list[WriteStat]:
        tables = (keyed.with_keys(rows).combine_chunks() for _, rows in by_bucket(blocks))
        batches = (rows for table in tables for rows in table.to_batches())
        if homes is not None:
            tables = (homes.settle(pa.Table.from_batches([rows])) for rows in batches)
            batches = (rows for table in tables for rows in table.combine_chunks().to_batches())
        return list(write_buckets(batches, context, scope, routes, rules))

    split = RowSender(source=keyed.source, tasks=tasks)
    return [stat for some in engine.exchange(pieces, split, tasks, work) for stat in some]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSender:
    """Sends rows of a source to the tasks that are to have their buckets, whose numbers stand behind them; pickles."""

    source: RowSource
    tasks: int

    def __call__(self, piece: Piece) -> Iterator[tuple[int, pa.RecordBatch]]:
        share, offsets, buckets = piece
        first = 0
        for batch in self.source.read(share):
            begin, end = np.searchsorted(offsets, (first, first + batch.num_rows))
            yield from _by_task(batch, offsets[begin:end] - np.uint32(first), buckets[begin:end], self.tasks)
            first += batch.num_rows


def _by_task(
    batch: pa.RecordBatch, offsets: Offsets, buckets: Buckets, tasks: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a batch for each task, sorted by their buckets, which stand in a last column."""
    task = buckets % tasks
    order = np.lexsort((buckets, task))
    rows = batch.take(pa.array(offsets[order])).append_column(BUCKET, pa.array(buckets[order]))
    present, begins = np.unique(task[order], return_index=True)
    for number, (begin, end) in zip(present.tolist(), pairwise([*begins.tolist(), len(order)]), strict=True):
        yield number, rows.slice(begin, end - begin)


def by_bucket(blocks: Sequence[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    """The rows of all blocks, one bucket after the other."""
    parts: dict[int, list[pa.RecordBatch]] = {}
    for block in blocks:
        for bucket, part in cut_by_bucket(block):
            parts.setdefault(bucket, []).append(part)
    for bucket in sorted(parts):
        yield bucket, pa.Table.from_batches(parts.pop(bucket))
