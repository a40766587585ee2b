"""A new version of a base file: the old rows with the changes laid over them (Hudi: HoodieMergeHandle)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.files.base_file import footer_index, open_base_file, read_batches
from spark_jobs.core.files.base_file_writer import BaseFileWriter
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.handles.context import TaskScope, WriteContext, slices, stamp
from spark_jobs.core.keygen.virtual import with_keys, without_keys
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.with_base import BaseMerge, MergedBatch
from spark_jobs.core.schema.conform import Origins, conform, stored_names
from spark_jobs.core.schema.meta_fields import COMMIT_TIME, FILE_NAME, RECORD_KEY
from spark_jobs.core.storage import join, resolve
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import BaseFile


def merge_base_file(
    context: WriteContext,
    scope: TaskScope,
    base: BaseFile,
    changes: Changes,
    *,
    event_time_deletes: bool = True,
) -> WriteStat:
    """Write the next version of ``base``.

    :param changes: records of this write, which get their meta columns here, so that those are not there for all of
        them at once; or records in the schema of the file. The file name column is this file's in either case.
    :returns: counts of this merge; ``num_writes`` is all rows of the new file.
    """

    def complete(rows: pa.Table) -> pa.Table:
        return stamp(rows, context, scope, base.partition, "")

    merge = BaseMerge(
        changes,
        context.payload,
        context.ordering_field,
        event_time_deletes=event_time_deletes,
        complete=None if COMMIT_TIME in changes.rows.schema.names else complete,
    )
    return _rewrite(context, scope, base, merge.merge, merge.unseen)


def concatenate_base_file(context: WriteContext, scope: TaskScope, base: BaseFile, rows: pa.Table) -> WriteStat:
    """Write the next version of ``base`` with ``rows`` after its own, keys not compared (Hudi: HoodieConcatHandle).

    :param rows: record keys and the table's columns.
    """

    def stamped() -> Iterator[pa.RecordBatch]:
        for part in slices(rows):
            yield from stamp(part, context, scope, base.partition, "").combine_chunks().to_batches()

    return _rewrite(context, scope, base, lambda batch: MergedBatch(batch, 0, 0), stamped)


def _rewrite(
    context: WriteContext,
    scope: TaskScope,
    base: BaseFile,
    merged_of: Callable[[pa.RecordBatch], MergedBatch],
    new_rows: Callable[[], Iterable[pa.RecordBatch]],
) -> WriteStat:
    name = context.format.base_file(base.name.file_id, scope.write_token, context.instant)
    path = context.prepare(base.partition, str(name), MarkerType.MERGE)
    path_of_base = resolve(context.base_path, base.relative_path)
    source = open_base_file(context.storage, path_of_base, whole=True, length=base.size)
    index = footer_index(source)
    seed = index if index.bloom_text is not None and index.key_range is not None else None
    writer = BaseFileWriter(context.storage, path, context.file_format, seed=seed)
    updated = deleted = inserted = 0
    spec = context.virtual_keys
    origins = context.evolution.origins(base.name.instant) if context.evolution else {}
    known = pa.array([], pa.string()) if seed else None
    try:
        context.opened(base.partition, str(name), MarkerType.MERGE)
        for batch in _stored_rows(context, base, source, origins):
            merged = merged_of(with_keys(batch, spec))
            updated += merged.updated
            deleted += merged.deleted
            writer.write(_named(without_keys(merged.rows, spec), str(name)), known)
        for batch in new_rows():
            inserted += batch.num_rows
            writer.write(_named(without_keys(batch, spec), str(name)), batch.column(RECORD_KEY))
        size = writer.close()
        context.closed(base.partition, str(name), MarkerType.MERGE)
        context.sync(base.partition, str(name), MarkerType.MERGE)
    except BaseException:
        writer.abort()
        raise
    return WriteStat(
        file_id=name.file_id,
        path=join(base.partition, str(name)),
        partition_path=base.partition,
        prev_commit=base.name.instant,
        num_writes=writer.rows,
        num_update_writes=updated,
        num_inserts=inserted,
        num_deletes=deleted,
        total_write_bytes=size,
        file_size_in_bytes=size,
    )


def _stored_rows(
    context: WriteContext, base: BaseFile, source: pq.ParquetFile, origins: Origins
) -> Iterator[pa.RecordBatch]:
    """The rows of the old version; of a skeleton with the columns of the file that it was made from."""
    schema = context.file_format.schema
    if context.skeletons is not None and context.skeletons.has(base):
        return context.skeletons.read(base, schema, origins)
    wanted = stored_names([column for column in schema.names if column != FILE_NAME], origins)
    batches = read_batches(source, wanted, name=base.relative_path)
    return (conform(batch, schema, origins) for batch in batches)


def _named(batch: pa.RecordBatch, name: str) -> pa.RecordBatch:
    index = batch.schema.get_field_index(FILE_NAME)
    columns = batch.columns
    columns[index] = pa.repeat(pa.scalar(name), batch.num_rows)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
