"""The result of a run of several batches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spark_jobs.options.result import JobResult, JobState


@dataclass
class Totals:
    """The sum of the batches so far, kept small however many there are.

    ``last`` is the result of the last batch, whatever became of it.
    """

    last: JobResult | None = None
    committed: int = 0
    _sum: JobResult | None = None

    def add(self, result: JobResult) -> None:
        """One more batch."""
        self.last = result
        if result.state is JobState.COMPLETED:
            self.committed += 1
            self._sum = result if self._sum is None else _added(self._sum, result)

    @property
    def result(self) -> JobResult | None:
        """Counts added up, instant and checkpoint of the last batch that was committed; None before the first batch."""
        if self._sum is None:
            return self.last
        return replace(self._sum, extra={**self._sum.extra, "batches": self.committed})

    def stopped(self, source: str, by: str) -> str:
        """The line that says where a run was stopped."""
        where = f"at checkpoint {self._sum.extra.get('checkpoint')}" if self._sum else "before its first batch"
        return f"stopped by {by} {where}, after {self.committed} batches of {source}"


def _added(before: JobResult, now: JobResult) -> JobResult:
    first = {"previous_checkpoint": before.extra.get("previous_checkpoint")}
    return replace(
        now,
        files_in=before.files_in + now.files_in,
        files_out=before.files_out + now.files_out,
        bytes_in=before.bytes_in + now.bytes_in,
        bytes_out=before.bytes_out + now.bytes_out,
        records_in=before.records_in + now.records_in,
        records_out=before.records_out + now.records_out,
        inserts=before.inserts + now.inserts,
        updates=before.updates + now.updates,
        deletes=before.deletes + now.deletes,
        extra={**now.extra, **first},
    )
