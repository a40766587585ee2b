"""Invariant 5: every log of a completed write lies on a slice of the table, so that readers open it."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.core.format.order import precedes
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, error


def check_slices(evidence: Evidence) -> Iterator[Finding]:
    """Logs on the slice of a compaction plan that was taken back, or of a write that was undone."""
    start = evidence.timeline.unbroken_from
    known = evidence.done | evidence.pending
    for path, one in evidence.written.items():
        if not one.is_log or path not in evidence.on_storage or one.instant in evidence.rolled_back:
            continue
        log = evidence.format.parse_log_file(path.rpartition("/")[2])
        if log is None or log.instant in known or (start and precedes(log.instant, start)):
            continue
        yield error(
            5,
            path,
            f"instant {one.instant} wrote it on the slice of {log.instant}, which is no completed write and no "
            "pending compaction: no reader opens it",
            f"write the input of {one.instant} again",
        )
