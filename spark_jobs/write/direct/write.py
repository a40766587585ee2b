"""The tasks of a write whose source they read themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.engine.protocol import Engine
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.source import RowRange
from spark_jobs.write.direct.tagged import Numbers
from spark_jobs.write.routes import Route
from spark_jobs.write.tasks import BUCKET, RecordRules, bulk_insert_batches, write_buckets


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
) -> list[WriteStat]:
    """Write rows to their buckets.

    :param shares: of each task the row numbers and their buckets, sorted by bucket; a task holds its rows in memory.
    """

    def work(share: tuple[Numbers, Numbers], scope: TaskScope) -> list[WriteStat]:
        rows, buckets = share
        needed, order = np.unique(rows, return_inverse=True)
        table = keyed.take(needed).take(pa.array(order)).append_column(BUCKET, pa.array(buckets.astype(np.int32)))
        return list(write_buckets(iter(table.combine_chunks().to_batches()), context, scope, routes, rules))

    return [stat for some in engine.run_each([one for one in shares if len(one[0])], work) for stat in some]
