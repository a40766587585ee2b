"""When an instant was completed: not before it began, else by when the file that says so was written."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.instant_time import TimelineZone, format_instant


def text_of(milliseconds: int) -> str:
    return format_instant(datetime.fromtimestamp(milliseconds / 1000, UTC), TimelineZone.LOCAL)


def completion_of(instant: Instant, written_ms: int) -> Instant:
    """The instant with its time of completion, where it is completed."""
    if not instant.is_completed:
        return instant
    return replace(instant, completed_at=max(instant.timestamp, text_of(written_ms)))
