"""What the batches of one run share: where the table stands in its source, and how a batch becomes a commit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from spark_jobs.core.clock import Clock
from spark_jobs.core.lake import Lake
from spark_jobs.core.timeline.checkpoint import CheckpointMove, CheckpointOrders, StoredCheckpoint, stored_checkpoint
from spark_jobs.engine.progress import Progress
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.config import open_if_there
from spark_jobs.write.sources.protocol import CheckpointedSource, SourceRows, WriteBatch

WRITTEN_BEFORE = "a batch that stands on the timeline under the same idempotency key"
"""Who ends a run whose table was set back since an earlier run of the same key and orders, which it does not redo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a table stands in its source: what its commits say, and what that means with the options."""

    stored: StoredCheckpoint | None
    checkpoint: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What all batches of a run share; ``options`` are effective ones."""

    spark: SparkSession
    options: IngestOptions
    progress: Progress
    write: WriteBatch
    lake: Lake

    @property
    def clock(self) -> Clock:
        return self.lake.clock

    @property
    def orders(self) -> CheckpointOrders:
        return CheckpointOrders(reset=self.options.checkpoint or None, ignore=self.options.ignore_checkpoint or None)

    def position(self) -> Position:
        """As the table stands now."""
        table = open_if_there(self.options.base_path, self.lake)
        stored = stored_checkpoint(table.timeline, table.clock) if table is not None else None
        name = table.config.name if table is not None else self.options.table_name or ""
        return Position(stored=stored, checkpoint=self.orders.resume(stored, name))

    def position_after(self, after: str) -> Position:
        """Where this run's own commit left the table: not asked of the table, so that another one's is noticed."""
        move = CheckpointMove(before=None, after=after, orders=self.orders)
        return Position(stored=move.left, checkpoint=after)

    def commit(self, spark: SparkSession, rows: SourceRows, position: Position, after: str) -> JobResult:
        """Write rows, the checkpoint behind them in the same commit."""
        named = replace(self.options, idempotency_key=self.key_of_batch(after))
        move = CheckpointMove(before=position.stored, after=after, orders=self.orders)
        result = self.write(spark, rows, named, self.progress, checkpoint=move)
        return result if result.repeated else with_checkpoint(result, position, after)

    def key_of_batch(self, after: str) -> str | None:
        """The idempotency key of the batch up to ``after``.

        Of a run in several batches each has a name of its own, so that the next one is not taken for it; nor is one
        that reads the same again by order.
        """
        key = self.options.idempotency_key
        if not key or not self.is_long:
            return key
        orders = {"from": self.orders.reset, "ignoring": self.orders.ignore}
        return "/".join([key, *(f"{name} {text}" for name, text in orders.items() if text), after])

    @property
    def is_long(self) -> bool:
        """Whether it may have several batches."""
        return self.options.available_now or self.options.continuous

    def nothing(self, source: CheckpointedSource, position: Position, summary: str) -> JobResult:
        """The result of a batch that neither has rows nor moves the checkpoint."""
        return JobResult(
            action="ingest",
            state=JobState.NOTHING_TO_DO,
            base_path=self.options.base_path,
            table=self.options.table_name,
            reason=f"{source.name} has nothing new: {summary}",
            extra={"checkpoint": position.checkpoint},
        )


def with_checkpoint(result: JobResult, position: Position, after: str) -> JobResult:
    """The result with the way that the checkpoint went."""
    said = {"checkpoint": after, "previous_checkpoint": position.checkpoint}
    return replace(result, extra={**result.extra, **said})
