"""Changes of one file group as new log files (Hudi: HoodieAppendHandle on a store without append)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from spark_jobs.core.files.log_writer import data_blocks, delete_block
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.keygen.virtual import without_meta
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import join
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendTarget:
    """The slice that a log file goes to.

    ``base_instant`` is that of a pending compaction where there is one; ``log_names`` are the slice's logs so far,
    ``next_version`` one more than the highest on storage.
    """

    partition: str
    file_id: str
    base_instant: str
    base_file: str
    log_names: tuple[str, ...]
    next_version: int


def append_target(view: FileSystemView, file_slice: FileSlice, pending_compaction: str | None) -> AppendTarget:
    """The log that comes next on a slice.

    While a compaction is pending it belongs to the slice that the compaction will make, which has no base file yet.
    """
    base_instant = pending_compaction or file_slice.base_instant
    logs = tuple(str(log.name) for log in file_slice.log_files if log.name.instant == base_instant)
    has_base = file_slice.base_file is not None and pending_compaction is None
    version = view.log_versions.get((file_slice.partition, file_slice.file_id, base_instant), 0) + 1
    return AppendTarget(
        partition=file_slice.partition,
        file_id=file_slice.file_id,
        base_instant=base_instant,
        base_file=str(file_slice.base_file.name) if has_base and file_slice.base_file else "",
        log_names=logs,
        next_version=version,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What one log file holds."""

    data: bytes
    records: int
    deletes: int


def append_changes(
    context: WriteContext,
    scope: TaskScope,
    target: AppendTarget,
    changes: Changes,
    *,
    hard_deletes: bool,
    compacted: Sequence[str] = (),
) -> list[WriteStat]:
    """Write data blocks, then delete blocks, to a log file; to the next one where one passed its greatest size.

    :param changes: stamped rows in the schema of base files, their file name column holding the file id.
    :param hard_deletes: the deletes have no ordering value (operation delete).
    :param compacted: instants whose blocks these stand for, newest first (log compaction).
    :returns: one for each file, mostly one alone.
    """
    stats: list[WriteStat] = []
    names = list(target.log_names)
    for version, content in enumerate(
        _files(context, changes, compacted, hard_deletes=hard_deletes), target.next_version
    ):
        name = str(
            context.format.log_file(
                target.file_id,
                base_instant=target.base_instant,
                instant=context.instant,
                version=version,
                write_token=scope.write_token,
            )
        )
        path = context.prepare(target.partition, name, MarkerType.APPEND)
        # published whole: a log file that a crash cut or left empty would trip other readers of the listing
        context.storage.create(path, content.data, durable=False)
        try:
            context.require_marker(target.partition, name, MarkerType.APPEND)
        except BaseException:
            context.give_up_log(target.partition, name)
            raise
        context.sync(target.partition, name, MarkerType.APPEND)
        names.append(name)
        size = len(content.data)
        stats.append(
            WriteStat(
                file_id=target.file_id,
                path=join(target.partition, name),
                partition_path=target.partition,
                prev_commit=target.base_instant,
                num_writes=content.records,
                num_update_writes=content.records,
                num_deletes=content.deletes,
                total_write_bytes=size,
                file_size_in_bytes=size,
                log_version=version,
                log_offset=0,
                base_file=target.base_file,
                log_files=tuple(names),
            )
        )
    return stats


def _files(
    context: WriteContext, changes: Changes, compacted: Sequence[str], *, hard_deletes: bool
) -> Iterator[_Content]:
    """The contents of the log files, one in memory at a time."""
    upserts, deletes = changes.upserts(), changes.deletes()
    stored, record_keys = without_meta(upserts, context.virtual_keys), upserts.column(RECORD_KEY)
    pieces: list[bytes | memoryview] = []
    size = records = 0
    avro = json.loads(context.file_format.avro_schema)
    for block in data_blocks(stored, avro, context.instant, context.log_format, record_keys, compacted):
        if size > context.log_format.max_file_bytes:
            yield _Content(data=b"".join(pieces), records=records, deletes=0)
            pieces, size, records = [], 0, 0
        pieces += block.pieces
        size += block.size
        records += block.records
    if deletes.num_rows:
        if size > context.log_format.max_file_bytes:
            yield _Content(data=b"".join(pieces), records=records, deletes=0)
            pieces, records = [], 0
        pieces += _delete_blocks(context, changes, deletes, compacted, hard=hard_deletes)
    if pieces:
        yield _Content(data=b"".join(pieces), records=records, deletes=deletes.num_rows)


def _delete_blocks(
    context: WriteContext, changes: Changes, deletes: pa.Table, compacted: Sequence[str], *, hard: bool
) -> Iterator[bytes]:
    """A block for the deletes with an ordering value, and one for those that hold against any."""
    asked = np.full(deletes.num_rows, not hard and bool(context.ordering_field))
    if changes.unasked is not None:
        asked &= ~changes.unasked[changes.deleted]
    for mask, field in ((asked, context.ordering_field), (~asked, None)):
        part = deletes.filter(pa.array(mask))
        if part.num_rows:
            ordering = part.column(field) if field else None
            keys, partitions = part.column(RECORD_KEY), part.column(PARTITION_PATH)
            schema = context.file_format.avro_schema
            yield delete_block(keys, partitions, ordering, context.instant, schema, compacted)
