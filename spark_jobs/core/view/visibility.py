"""Which instants count for a reader, from the timeline alone; a pure value."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.instant import COMMITS


@dataclass(frozen=True, slots=True)
class Visibility:
    """``completed`` holds the completed write instants, ``start`` the first write behind which none was archived,
    ``until`` the newest that the reader may see (inclusive; None: all).
    """

    completed: frozenset[str]
    start: str
    until: str | None = None

    @staticmethod
    def of(timeline: ActiveTimeline, until: str | None = None) -> Visibility:
        done = frozenset(one.timestamp for one in timeline.instants if one.is_completed and one.action in COMMITS)
        return Visibility(done, timeline.unbroken_from, until)

    def is_completed(self, instant: str) -> bool:
        """Completed, or so old that it was archived."""
        return instant in self.completed or (self.start != "" and instant < self.start)

    def sees(self, instant: str) -> bool:
        """Completed and not younger than the reader's moment."""
        return (self.until is None or instant <= self.until) and self.is_completed(instant)
