"""What Python workers do with the batches of a write; values in, write stats out."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from uuid import UUID, uuid5

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.handles.append import append_changes
from spark_jobs.core.handles.context import TaskScope, WriteContext, forced_together, stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import concatenate_base_file, merge_base_file
from spark_jobs.core.merge.changes import Changes, deleted_mask, precombine
from spark_jobs.core.merge.fold import last_of_each
from spark_jobs.core.merge.protocol import Mask
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.schema.exact import refuse_cut_times, refuse_other_kinds
from spark_jobs.core.schema.meta_fields import META_FIELDS, PARTITION_PATH, RECORD_KEY
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.write.routes import AppendRoute, CreateRoute, Route

BUCKET = "_pyhudi_bucket"
MOVED = "_pyhudi_moved"
"""True for the removal of a record that goes to another partition; a column of writes with a global index."""
STAT_SCHEMA = "stat string"
MAX_OPEN_FILES = 64
"""Of one task: each holds buffers of a row group."""
GATHERED_BYTES = 64 << 20
"""Records of many partitions that a task holds, so that each partition's come together."""
HELD_BYTES = 128 << 20
"""Records that a task's open files hold together until they fill a row group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRules:
    """What the operation does to records before they are written."""

    combine: bool
    all_deleted: bool


def write_buckets(
    batches: Iterator[pa.RecordBatch],
    context: WriteContext,
    scope: TaskScope,
    routes: Mapping[int, Route],
    rules: RecordRules,
) -> Iterator[WriteStat]:
    """Write the records of one task, which come sorted by bucket.

    Holds the records of one bucket at a time; of one that begins a file group with all its records as they come, a
    batch.
    """
    cut = (part for batch in batches for part in cut_by_bucket(batch))
    with forced_together(context) as together:
        for bucket, parts in groupby(cut, itemgetter(0)):
            yield from _write_bucket((part for _, part in parts), together, scope, routes[bucket], rules)


def cut_by_bucket(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Slices of equal bucket; nothing is copied."""
    buckets = np.asarray(batch.column(BUCKET))
    if not len(buckets):
        return
    starts = [0, *(np.flatnonzero(np.diff(buckets)) + 1).tolist(), len(buckets)]
    for start, end in pairwise(starts):
        yield int(buckets[start]), batch.slice(start, end - start)


def _write_bucket(
    parts: Iterator[pa.RecordBatch], context: WriteContext, scope: TaskScope, route: Route, rules: RecordRules
) -> list[WriteStat]:
    if isinstance(route, CreateRoute) and not rules.combine:
        return _begin_group((_new_rows(part, context, rules) for part in parts), context, scope, route)
    rows, gone = _without_moved(pa.Table.from_batches(list(parts)), context)
    if rules.combine and not rules.all_deleted:
        combined = precombine(rows, context.ordering_field, context.payload)
        rows, deleted = combined.rows, combined.deleted
    else:
        if rules.combine:  # a delete operation may come with keys alone
            rows = precombine(rows, None).rows
        deleted = deleted_mask(rows, context.payload, all_deleted=rules.all_deleted)
    unasked = None
    if gone.num_rows:
        unasked = np.concatenate([np.zeros(rows.num_rows, bool), np.ones(gone.num_rows, bool)])
        rows, deleted = pa.concat_tables([rows, gone]), np.concatenate([deleted, np.ones(gone.num_rows, bool)])
    if isinstance(route, CreateRoute):
        kept = rows.filter(pa.array(~deleted)) if deleted.any() else rows
        return _begin_group([kept], context, scope, route)
    if isinstance(route, AppendRoute):
        target = route.target
        changes = Changes(stamp(rows, context, scope, target.partition, target.file_id), deleted, unasked)
        return append_changes(context, scope, target, changes, hard_deletes=rules.all_deleted)
    if not route.concatenate and not rules.combine:
        rows, deleted, unasked = _last_of_each_key(rows, deleted, unasked)
    if route.concatenate:
        kept = rows.filter(pa.array(~deleted)) if deleted.any() else rows
        return [concatenate_base_file(context, scope, route.base, kept)]
    # a delete operation removes whatever is stored, it has no ordering value to compare
    changes = Changes(rows, deleted, unasked)
    return [merge_base_file(context, scope, route.base, changes, event_time_deletes=not rules.all_deleted)]


def _begin_group(
    tables: Iterable[pa.Table], context: WriteContext, scope: TaskScope, route: CreateRoute
) -> list[WriteStat]:
    handle = CreateHandle(context, scope, route.partition, route.file_id_prefix, whole_id=route.whole_id)
    try:
        for rows in tables:
            handle.write(rows)
        return handle.close()
    except BaseException:
        handle.abort()
        raise


def _new_rows(part: pa.RecordBatch, context: WriteContext, rules: RecordRules) -> pa.Table:
    """The records that stay, as they are."""
    rows, _ = _without_moved(pa.Table.from_batches([part]), context)
    deleted = deleted_mask(rows, context.payload, all_deleted=rules.all_deleted)
    return rows.filter(pa.array(~deleted)) if deleted.any() else rows


def _last_of_each_key(rows: pa.Table, deleted: Mask, unasked: Mask | None) -> tuple[pa.Table, Mask, Mask | None]:
    """A base file holds one row of a key even where the input was not combined: the last."""
    codes = np.asarray(rows.column(RECORD_KEY).combine_chunks().dictionary_encode().indices).astype(np.int64)
    kept = np.sort(last_of_each(codes, np.zeros(len(codes), np.int64)))
    return rows.take(pa.array(kept)), deleted[kept], None if unasked is None else unasked[kept]


def _without_moved(rows: pa.Table, context: WriteContext) -> tuple[pa.Table, pa.Table]:
    """The records, and the removals of records that went to another partition."""
    records = as_records(rows, context)
    if MOVED not in rows.column_names:
        return records, records.slice(0, 0)
    moved = rows.column(MOVED)
    return records.filter(pc.invert(moved)), records.filter(moved)


def as_records(rows: pa.Table, context: WriteContext) -> pa.Table:
    """Key and partition path, then the table's own columns, in their types.

    :raises BadRecordError: a value has no counterpart in its column's type.
    """
    own = [field for field in context.file_format.schema if field.name not in META_FIELDS]
    refuse_other_kinds(rows.schema, pa.schema(own))
    refuse_cut_times(rows, pa.schema(own))
    return conform(rows, pa.schema([pa.field(RECORD_KEY, pa.string()), pa.field(PARTITION_PATH, pa.string()), *own]))


def bulk_insert_batches(
    batches: Iterator[pa.RecordBatch],
    context: WriteContext,
    scope: TaskScope,
    seed: str,
    rules: RecordRules,
    most: int = MAX_OPEN_FILES,
) -> Iterator[WriteStat]:
    """Write a task's records straight to new file groups, one open file for each partition.

    At most ``most`` are open: beyond, the one that was written to least recently is closed, and the next records of its
    partition begin another file. So that these are few, batches of many partitions are gathered up first.

    :param seed: a UUID of the driver; file-id prefixes are derived from it, the task's number and the partition, so
        that every attempt of the task names the same file groups.
    """
    with forced_together(context) as together:
        yield from _to_new_groups(batches, together, scope, uuid5(UUID(seed), str(scope.task)), rules, most)


def _to_new_groups(
    batches: Iterator[pa.RecordBatch],
    context: WriteContext,
    scope: TaskScope,
    task_seed: UUID,
    rules: RecordRules,
    most: int,
) -> Iterator[WriteStat]:
    handles: dict[str, CreateHandle] = {}  # least recently used first
    suffixes: dict[str, int] = {}
    try:
        for gathered in _gathered(batches, most):
            rows = as_records(gathered, context)
            deleted = deleted_mask(rows, context.payload, all_deleted=rules.all_deleted)
            if deleted.any():
                rows = rows.filter(pa.array(~deleted))
            for partition, part in split_by_partition(rows):
                handle = handles.pop(partition, None)
                if handle is None:
                    while len(handles) >= most:
                        oldest = next(iter(handles))
                        suffixes[oldest] = handles[oldest].next_suffix
                        stats = handles[oldest].close()
                        del handles[oldest]
                        yield from stats
                    prefix = str(uuid5(task_seed, partition))
                    handle = CreateHandle(context, scope, partition, prefix, first=suffixes.get(partition, 0))
                handles[partition] = handle
                handle.write(part)
                _keep_within(HELD_BYTES, handles.values())
        for handle in handles.values():
            yield from handle.close()
    except BaseException:
        for handle in handles.values():
            handle.abort()
        raise


def _keep_within(held_bytes: int, handles: Collection[CreateHandle]) -> None:
    """Let those go that hold most."""
    while sum(handle.held_bytes for handle in handles) > held_bytes:
        max(handles, key=lambda handle: handle.held_bytes).flush()


def _gathered(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.Table]:
    """The batches one by one; those of more than ``most`` partitions joined up to :data:`GATHERED_BYTES`, as each of
    them would begin files anew. Where files are written one after the other they come sorted.
    """
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        scattered = most > 1 and pc.count_distinct(batch.column(PARTITION_PATH)).as_py() > most
        if not scattered or size >= GATHERED_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def split_by_partition(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each partition path; one gather for all of them."""
    encoded = rows.column(PARTITION_PATH).combine_chunks().dictionary_encode()
    names = encoded.dictionary.to_pylist()
    if len(names) == 1:
        yield names[0], rows
        return
    codes = np.asarray(encoded.indices)
    order = np.argsort(codes, kind="stable")
    grouped = rows.take(pa.array(order))
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for number, name in enumerate(names):
        yield name, grouped.slice(int(bounds[number]), int(bounds[number + 1] - bounds[number]))


def as_batches(stats: Iterator[WriteStat]) -> Iterator[pa.RecordBatch]:
    """Write stats as rows that Spark can collect."""
    for stat in stats:
        yield pa.RecordBatch.from_pydict({"stat": [json.dumps(stat.to_json())]})
