"""What a source that a checkpoint goes with is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.core.timeline.checkpoint import CheckpointMove
from spark_jobs.engine.progress import Progress
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult
from spark_jobs.write.error_rows import CheckedRows

SourceRows = DataFrame | CheckedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBatch:
    """Rows after a checkpoint, and the checkpoint after them.

    ``rows`` is None where the source never had any, and nobody knows their columns; ``summary`` says in numbers what
    the source had; ``is_last`` whether it has nothing after ``checkpoint`` now. A batch without rows may still move the
    checkpoint.
    """

    rows: SourceRows | None
    checkpoint: str
    summary: str
    is_last: bool


class CheckpointedSource(Protocol):
    """A place that rows come to, each at a place of its own that a checkpoint can name."""

    @property
    def name(self) -> str:
        """As it stands in messages."""
        ...

    def next_batch(self, spark: SparkSession, checkpoint: str | None) -> SourceBatch:
        """What came after a checkpoint; None stands for a table that has none yet."""
        ...


class WriteBatch(Protocol):
    """The write of one batch, its checkpoint in the same commit."""

    def __call__(
        self,
        spark: SparkSession,
        source: SourceRows | None,
        options: IngestOptions,
        progress: Progress,
        *,
        checkpoint: CheckpointMove | None = None,
    ) -> JobResult: ...
