"""Changes of one file group as a new log file (Hudi: HoodieAppendHandle on a store without append)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from spark_jobs.core.files.log_writer import data_block, delete_block
from spark_jobs.core.files.names import LogFileName, MarkerType, join
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.timeline.write_stat import WriteStat


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


def append_changes(
    context: WriteContext, scope: TaskScope, target: AppendTarget, changes: Changes, *, hard_deletes: bool
) -> WriteStat:
    """Write one log file: a data block for each 256 MB of records, then one delete block.

    :param changes: stamped rows in the schema of base files, their file name column holding the file id.
    :param hard_deletes: the deletes have no ordering value (operation delete).
    """
    name = LogFileName(target.file_id, target.base_instant, target.next_version, scope.write_token)
    path = context.prepare(target.partition, str(name), MarkerType.APPEND)
    content = _content(context, changes, hard_deletes=hard_deletes)
    # published whole: a log file that a crash cut or left empty would trip other readers of the listing
    context.storage.create(path, content)
    size, kept = len(content), int((~changes.deleted).sum())
    return WriteStat(
        file_id=target.file_id,
        path=join(target.partition, str(name)),
        partition_path=target.partition,
        prev_commit=target.base_instant,
        num_writes=kept,
        num_update_writes=kept,
        num_deletes=int(changes.deleted.sum()),
        total_write_bytes=size,
        file_size_in_bytes=size,
        log_version=target.next_version,
        log_offset=0,
        base_file=target.base_file,
        log_files=(*target.log_names, str(name)),
    )


def _content(context: WriteContext, changes: Changes, *, hard_deletes: bool) -> bytes:
    upserts, deletes = changes.upserts(), changes.deletes()
    blocks = b""
    if upserts.num_rows:
        blocks = data_block(upserts, json.loads(context.file_format.avro_schema), context.instant)
    if not deletes.num_rows:
        return blocks
    ordering = None if hard_deletes or not context.ordering_field else deletes.column(context.ordering_field)
    keys, partitions = deletes.column(RECORD_KEY), deletes.column(PARTITION_PATH)
    return blocks + delete_block(keys, partitions, ordering, context.instant, context.file_format.avro_schema)
