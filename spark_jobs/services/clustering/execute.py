"""One group of a clustering: its slices read, sorted, and written as new file groups; runs in a worker."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from uuid import UUID, uuid5

import pyarrow as pa

from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.services.clustering.plan import ClusteringGroup

ROWS_PER_WRITE = 128 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusterer:
    """Rewrites groups; pickles.

    ``seed`` is a UUID of the driver, from which the file ids of every attempt are derived.
    """

    context: WriteContext
    reader: SliceReader
    sort_columns: tuple[str, ...]
    seed: str

    def __call__(self, numbered: tuple[int, ClusteringGroup], scope: TaskScope) -> list[WriteStat]:
        number, group = numbered
        rows = self._read(group)
        if self.sort_columns:
            rows = rows.sort_by([(name, "ascending") for name in self.sort_columns])
        prefix = str(uuid5(UUID(self.seed), str(number)))
        share = max(1, math.ceil(rows.num_rows / group.output_groups))
        context = replace(self.context, max_file_size=1 << 62)  # the plan says how many files there will be
        stats: list[WriteStat] = []
        for output in range(group.output_groups):
            part = rows.slice(output * share, share)
            handle = CreateHandle(context, scope, group.partition, prefix, first=output, keep_meta=True)
            try:
                for start in range(0, part.num_rows, ROWS_PER_WRITE):
                    handle.write(part.slice(start, ROWS_PER_WRITE))
                stats += handle.close()
            except BaseException:
                handle.abort()
                raise
        return stats

    def _read(self, group: ClusteringGroup) -> pa.Table:
        batches = [batch for one in group.slices for batch in self.reader.read(one)]
        return pa.Table.from_batches(batches, schema=self.context.file_format.schema)
