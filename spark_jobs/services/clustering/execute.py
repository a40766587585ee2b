"""One group of a clustering: its slices read, sorted, and written as new file groups; runs in a worker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from uuid import UUID, uuid5

import pyarrow as pa

from spark_jobs.core.config.keys.clustering import LayoutStrategy
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.services.clustering.layout import POSITION, with_position
from spark_jobs.services.clustering.plan import ClusteringGroup
from spark_jobs.services.clustering.spill import RUN_BYTES, ordered_rows

ROWS_PER_WRITE = 128 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusterer:
    """Rewrites groups; pickles.

    ``seed`` is a UUID of the driver, from which the file ids of every attempt are derived; of a group, ``run_bytes``
    are held in memory (Arrow's size) and the rest in temporary files.
    """

    context: WriteContext
    reader: SliceReader
    sort_columns: tuple[str, ...]
    seed: str
    layout: LayoutStrategy = LayoutStrategy.LINEAR
    run_bytes: int = RUN_BYTES

    def __call__(self, numbered: tuple[int, ClusteringGroup], scope: TaskScope) -> list[WriteStat]:
        number, group = numbered
        prefix = str(uuid5(UUID(self.seed), str(number)))
        context = replace(self.context, max_file_size=1 << 62)  # the plan says how many files there will be
        stats: list[WriteStat] = []
        batches = (batch for one in group.slices for batch in self.reader.read(one))
        schema, columns = context.file_format.schema, self.sort_columns
        if self.layout is not LayoutStrategy.LINEAR:
            batches = (with_position(batch, self.sort_columns, self.layout) for batch in batches)
            schema, columns = schema.append(pa.field(POSITION, pa.binary(8 * len(columns)))), (POSITION,)
        with ordered_rows(batches, schema, columns, self.run_bytes) as rows:
            share = max(1, math.ceil(rows.count / group.output_groups))
            tables = (table.select(context.file_format.schema.names) for table in _gathered(rows.tables))
            for output, parts in groupby(_cut(tables, share), lambda cut: cut[0]):
                handle = CreateHandle(context, scope, group.partition, prefix, first=output, keep_meta=True)
                try:
                    for _, part in parts:
                        handle.write(part)
                    stats += handle.close()
                except BaseException:
                    handle.abort()
                    raise
        return stats


def _gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of no less than :data:`ROWS_PER_WRITE`, but for the last: each write costs by itself."""
    held: list[pa.Table] = []
    count = 0
    for table in tables:
        held.append(table)
        count += table.num_rows
        if count >= ROWS_PER_WRITE:
            yield pa.concat_tables(held)
            held, count = [], 0
    if held:
        yield pa.concat_tables(held)


def _cut(tables: Iterable[pa.Table], share: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows in pieces that a handle takes well, each with the number of its output of ``share`` rows."""
    done = 0
    for table in tables:
        start = 0
        while start < table.num_rows:
            count = min(ROWS_PER_WRITE, share - done % share, table.num_rows - start)
            yield done // share, table.slice(start, count)
            start += count
            done += count
