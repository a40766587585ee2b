"""The result of a write's commit, also when an earlier run made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spark_jobs.core.format.instant import Instant
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.checkpoint import CHECKPOINT_KEY
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.once import settle


def committed(config: WriteConfig, instant: Instant, metadata: CommitMetadata) -> JobResult:
    """The result of a completed write."""
    stats, replaced = metadata.write_stats, metadata.replaced_file_ids
    partitions = {stat.partition_path for stat in stats}.union(replaced or ())
    counts = {} if replaced is None else {"replaced_file_groups": sum(map(len, replaced.values()))}
    return JobResult(
        action=instant.action.value,
        state=JobState.COMPLETED,
        instant=instant.timestamp,
        base_path=config.options.base_path,
        table=config.name,
        files_out=len(stats),
        bytes_out=sum(stat.total_write_bytes for stat in stats),
        records_in=sum(stat.num_inserts + stat.num_update_writes + stat.num_deletes for stat in stats),
        records_out=sum(stat.num_writes for stat in stats),
        inserts=sum(stat.num_inserts for stat in stats),
        updates=sum(stat.num_update_writes for stat in stats),
        deletes=sum(stat.num_deletes for stat in stats),
        extra={"operation": config.operation.value, "partitions": len(partitions), **counts},
    )


def already_done(config: WriteConfig, instant: Instant, metadata: CommitMetadata) -> JobResult:
    """The same for a write that an earlier run, or another process, completed under this write's idempotency key."""
    result = committed(config, instant, metadata)
    did, asked = metadata.operation_type.value.lower(), config.operation.value
    other = f"; it was {did}, not {asked}" if did != asked else ""
    key = config.options.idempotency_key
    return replace(
        result,
        reason=f"instant {instant.timestamp} already did this write (idempotency key {key}){other}",
        repeated=True,
        extra={**result.extra, "operation": did, **_checkpoint(metadata)},
    )


def _checkpoint(metadata: CommitMetadata) -> dict[str, str]:
    said = metadata.extra_metadata.get(CHECKPOINT_KEY)
    return {"checkpoint": said} if said else {}


def nothing_to_delete(config: WriteConfig, partitions: Sequence[str]) -> JobResult:
    """The result of a delete_partition that found no file group to take off."""
    shown = ", ".join(repr(one) for one in partitions[:5]) + (", ..." if len(partitions) > 5 else "")
    return JobResult(
        action=config.action.value,
        state=JobState.NOTHING_TO_DO,
        base_path=config.options.base_path,
        table=config.name,
        reason=f"no rows are in the partitions to delete ({shown or 'no partition matches'})",
        extra={"operation": config.operation.value, "partitions": 0},
    )


def done_before(config: WriteConfig, table: HudiTable | None, progress: Progress) -> JobResult | None:
    """The result of the write that carries this one's idempotency key, without a look at the source.

    Waits while another process writes under the key. None where the write is yet to be done.
    """
    key = config.options.idempotency_key
    if table is None or not key or config.options.dry_run or config.options.explain:
        return None
    done = settle(table.transaction_settings(config.properties), key, progress.note)
    return already_done(config, *done) if done is not None else None
