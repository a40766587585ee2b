"""The end of a write: its metadata, what is checked under the lock, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spark_jobs.core.config.index_keys import IndexType
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.index.buckets import place_of_bucket
from spark_jobs.core.read.table_schema import add_to_history, committed_schema
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import IDEMPOTENCY_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.outcome import committed
from spark_jobs.write.overwrite import ReplacedGroups, refuse_other_writers
from spark_jobs.write.prepare import PreparedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write made, and which file groups it takes the place of (None: it replaces nothing); ``notes`` go into
    the result.
    """

    stats: list[WriteStat]
    replaced: ReplacedGroups | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)


def publish(
    config: WriteConfig,
    table: HudiTable,
    rows: PreparedRows,
    transaction: Transaction,
    written: Written,
    progress: Progress,
) -> JobResult:
    """Complete the instant.

    :raises WriteConflictError: another writer changed the same file groups, began the same bucket, changed a replaced
        partition or the schema, or read the same source.
    """
    extra, internal = rows.schema_metadata(transaction.time)
    if config.options.idempotency_key:
        extra[IDEMPOTENCY_KEY] = config.options.idempotency_key
    if config.checkpoint is not None:
        extra |= config.checkpoint.metadata()
    metadata = CommitMetadata(
        write_stats=tuple(written.stats),
        operation_type=OperationType(config.operation.value.upper()),
        extra_metadata=extra,
        replaced_file_ids=written.replaced,
    )
    known = table.known_avro_schema()

    def check(timeline: ActiveTimeline) -> None:
        if config.checkpoint is not None:
            config.checkpoint.refuse_others(timeline, table.clock, config.name)
        _refuse_other_schema(table, timeline, known)
        if written.replaced:
            refuse_other_writers(timeline, table.timeline, written.replaced, table.clock)
        if internal is not None:
            add_to_history(timeline.storage, table.base_path, timeline, transaction.time, rows.evolution, internal)

    paths = written_paths(written.stats)
    if config.index_type is IndexType.BUCKET:  # a bucket that had no group gets one, whoever begins it
        instant = transaction.publish(
            metadata.encode(), metadata.touched_file_groups(), written=paths, check=check, place_of=place_of_bucket
        )
    else:
        instant = transaction.publish(metadata.encode(), _contended(metadata), written=paths, check=check)
    result = committed(config, instant, metadata)
    return replace(
        result, seconds_by_phase=dict(progress.seconds_by_phase), extra={**result.extra, **dict(written.notes)}
    )


def _refuse_other_schema(table: HudiTable, timeline: ActiveTimeline, known: dict[str, Any] | None) -> None:
    """
    :raises WriteConflictError: another writer changed the table's schema meanwhile; this commit would set it back.
    """
    now = committed_schema(timeline, table.config, table.clock)
    if now is not None and known is not None and now != known:
        raise WriteConflictError(
            f"another writer changed the schema of table {table.config.name} meanwhile",
            todo="run it again",
            table=table.config.name,
        )


def _contended(metadata: CommitMetadata) -> frozenset[tuple[str, str]]:
    """File groups that were there before: new ones can't be anybody else's."""
    changed = {
        (stat.partition_path, stat.file_id)
        for stat in metadata.write_stats
        if stat.prev_commit != "null" or stat.is_log_append
    }
    replaced = {(p, file_id) for p, file_ids in (metadata.replaced_file_ids or {}).items() for file_id in file_ids}
    return frozenset(changed | replaced)
