"""Which instants count for a reader: by the timeline, and for what is older than it by what is on record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spark_jobs.core.errors import UnknownInstantError
from spark_jobs.core.format.instant import COMMITS, Action
from spark_jobs.core.format.order import AFTER_ALL, BEFORE_ALL, is_from, is_up_to, latest, precedes
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.view.history import History


@dataclass(frozen=True, slots=True)
class Visibility:
    """``completed`` holds the completed write instants, ``start`` the first write behind which none was archived,
    ``until`` the newest that the reader may see (inclusive; None: all). ``history`` answers for older ones, and up to
    ``holes_until`` for those that are neither completed nor ``pending``: where a savepoint is deleted behind which
    writes were archived, the timeline begins before them.
    """

    completed: frozenset[str]
    start: str
    until: str | None = None
    history: History | None = field(default=None, compare=False)
    pending: frozenset[str] = frozenset()
    holes_until: str = ""
    times: Mapping[str, str] = field(default_factory=dict, compare=False)
    """When writes were completed, by when they began; of a table that keeps it."""

    @staticmethod
    def of(timeline: ActiveTimeline, until: str | None = None) -> Visibility:
        done = frozenset(one.timestamp for one in timeline.instants if one.is_completed and one.action in COMMITS)
        last, archived_until = latest(done), BEFORE_ALL
        if timeline.has_archive:
            is_saved = any(one.timestamp == last for one in timeline.completed(Action.SAVEPOINT))
            archived_until = AFTER_ALL if is_saved else last  # behind a saved one Hudi may archive even the newest
        return Visibility(
            completed=done,
            # of a timeline without a write, all files are older; behind a savepoint, an archive that is lost may have
            # had writes
            start=timeline.first_unsaved or AFTER_ALL,
            until=until,
            history=History(timeline),
            pending=frozenset(one.timestamp for one in timeline.pending_writes()),
            holes_until=archived_until,
            times={one.timestamp: one.completed_at for one in timeline.instants if one.completed_at is not None},
        )

    def is_old(self, instant: str) -> bool:
        """Older than the timeline, so that the timeline can't say whether it was completed."""
        return precedes(instant, self.start) and instant not in self.completed

    def fate(self, instant: str) -> bool | None:
        """Whether it was completed; None where it is older than the timeline and nothing on record says either."""
        if instant in self.completed:
            return True
        if is_from(instant, self.start):
            may_be_archived = precedes(instant, self.holes_until) and instant not in self.pending
            return may_be_archived and self.history is not None and self.history.is_archived(instant)
        return None if self.history is None else self.history.fate(instant)

    def completed_at(self, instant: str) -> str | None:
        """When a write was completed: by the timeline, where the table's version keeps that, else by when it began;
        None where it was not completed, or nothing says.
        """
        known = self.times.get(instant)
        return known if known is not None else instant if self.fate(instant) else None

    def is_completed(self, instant: str) -> bool:
        """
        :raises UnknownInstantError: nothing says.
        """
        found = self.fate(instant)
        if found is None:
            raise UnknownInstantError.of(instant, "a file")
        return found

    def is_reached(self, instant: str) -> bool:
        """Not younger than the reader's moment, completed or not."""
        return is_up_to(instant, self.until)

    def sees(self, instant: str) -> bool:
        """Completed and not younger than the reader's moment.

        :raises UnknownInstantError: nothing says.
        """
        return self.is_reached(instant) and self.is_completed(instant)
