"""What a write tells: the result of its commit, also when an earlier run made it."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.instant import Instant
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.once import settle


def committed(config: WriteConfig, instant: Instant, metadata: CommitMetadata) -> JobResult:
    """The result of a completed write."""
    stats = metadata.write_stats
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
        extra={"operation": config.operation.value, "partitions": len({stat.partition_path for stat in stats})},
    )


def already_done(config: WriteConfig, instant: Instant, metadata: CommitMetadata) -> JobResult:
    """The same for a write that an earlier run, or another process, completed under this write's idempotency key."""
    result = committed(config, instant, metadata)
    return replace(
        result,
        reason=f"instant {instant.timestamp} already did this write (idempotency key {config.options.idempotency_key})",
        extra={**result.extra, "repeated": True},
    )


def done_before(config: WriteConfig, table: HudiTable | None, progress: Progress) -> JobResult | None:
    """The result of the write that carries this one's idempotency key, without a look at the source.

    Waits while another process writes under the key. None where the write is yet to be done.
    """
    key = config.options.idempotency_key
    if table is None or not key or config.options.dry_run:
        return None
    done = settle(table.transaction_settings(config.properties), key, progress.note)
    return already_done(config, *done) if done is not None else None
