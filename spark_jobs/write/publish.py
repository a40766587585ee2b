"""The end of a write: its metadata, what is checked under the lock, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.read.table_schema import add_to_history, committed_schema
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import IDEMPOTENCY_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.conflict import refuse_taken_back
from spark_jobs.core.transaction.refusal import NONE, appended_groups
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.result import JobResult
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.services.run_generation import ATTEMPT_KEY
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.context import write_context
from spark_jobs.write.inserted_keys import Check, InsertedKeys
from spark_jobs.write.outcome import committed
from spark_jobs.write.overwrite import ReplacedGroups, refuse_other_writers
from spark_jobs.write.stored_schema import StoredSchema


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
    stored: StoredSchema,
    transaction: Transaction,
    written: Written,
    progress: Progress,
    placed_by: ActiveTimeline | None = None,
) -> JobResult:
    """Complete the instant.

    :param placed_by: the timeline by which the records were placed; that of ``table`` without it.
    :raises WriteConflictError: another writer changed the same file groups, began the same bucket, inserted the same
        keys, changed a replaced partition or the schema, or read the same source; or a write was rolled back that the
        records were placed beside.
    """
    extra, internal = stored.schema_metadata(transaction.time)
    if config.options.idempotency_key:
        extra[IDEMPOTENCY_KEY] = config.options.idempotency_key
        if config.options.attempt:
            extra[ATTEMPT_KEY] = config.options.attempt
    if config.checkpoint is not None:
        extra |= config.checkpoint.metadata()
    metadata = CommitMetadata(
        write_stats=tuple(written.stats),
        operation_type=OperationType(config.operation.value.upper()),
        extra_metadata=extra,
        replaced_file_ids=written.replaced,
    )
    known = table.known_avro_schema()
    # by a global index a key in a partition that is new since would be there twice
    takes_all = config.operation is Operation.INSERT_OVERWRITE_TABLE and config.index_type.is_global

    def check(timeline: ActiveTimeline) -> None:
        refuse_taken_back(timeline, placed_by or table.timeline, transaction.time)
        if config.checkpoint is not None:
            config.checkpoint.refuse_others(timeline, table.clock, config.name)
        _refuse_other_schema(table, timeline, known)
        if written.replaced:
            refuse_other_writers(timeline, table.timeline, None if takes_all else written.replaced, table.clock)
        if internal is not None:
            add_to_history(timeline.storage, table.base_path, timeline, transaction.time, stored.evolution, internal)

    paths = written_paths(written.stats)
    by_bucket = config.index_type.places_by_key  # a bucket that had no group gets one, whoever begins it

    def complete(refuse: Check) -> Instant:
        def both(timeline: ActiveTimeline) -> None:
            refuse(timeline)
            check(timeline)

        groups = metadata.touched_file_groups() if by_bucket else _contended(metadata)
        shared = appended_groups(metadata, table.config.format) if config.is_non_blocking else NONE
        return transaction.publish(
            metadata.payload(), groups, written=paths, check=both, place_of=config.place_of, shared=shared
        )

    def reader_of(now: HudiTable) -> SliceReader:
        return slice_reader(now, write_context(config, now, stored, transaction.time), config.properties)

    if config.looks_up and not by_bucket:  # whose keys are in conflict by their buckets
        instant = InsertedKeys(
            table=table,
            instant=transaction.time,
            stats=written.stats,
            placed_by=placed_by or table.timeline,
            reader_of=reader_of,
            is_global=config.index_type.is_global,
        ).publish(complete)
    else:
        instant = complete(lambda timeline: None)
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
