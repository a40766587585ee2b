"""What became of instants that are older than the active timeline, by what is on record: nothing is guessed.

Hudi's own readers take every such instant for completed (HoodieDefaultTimeline.containsOrBeforeTimelineStarts), and
with it the files that a writer made after it was rolled back.
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import COMMITS, Action
from spark_jobs.core.format.order import precedes
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.rolled_back import RolledBackWrites
from spark_jobs.core.timeline.write_stat import NO_PREVIOUS_COMMIT, written_paths


class History:
    """Asked of single instants; each answer is read once. Pickles with the answers that were given."""

    def __init__(self, timeline: ActiveTimeline) -> None:
        self._rolled_back = RolledBackWrites(timeline)
        self._timeline = self._rolled_back.timeline
        self._known: dict[str, bool] = {}

    def fate(self, instant: str) -> bool | None:
        """Whether the write of an instant that is older than the timeline was completed; None where nothing on record
        says so or otherwise. The archive says it, or a rollback or restore that undid it; where the archive was lost,
        the table's properties.

        :raises CorruptTableError: an archive file is damaged that may have it.
        """
        if instant not in self._known:
            found = self._look_up(instant)
            if found is None:
                return None
            self._known[instant] = found
        return self._known[instant]

    def is_archived(self, instant: str) -> bool:
        """Whether an instant that is younger than the first write of the timeline was completed, and archived behind a
        savepoint that is deleted since. Archive files that are older than it are not read.

        :raises CorruptTableError: as :meth:`fate`.
        """
        if instant not in self._known:
            is_gone = self._rolled_back.has(instant) and not self._rolled_back.may_be_done_again(instant)
            self._known[instant] = not is_gone and self._timeline.archive.has(instant)
        return self._known[instant]

    def prove(self, instant: str) -> None:
        """Take note that other evidence says it was completed."""
        self._known[instant] = True

    def _look_up(self, instant: str) -> bool | None:
        archive = self._timeline.archive
        failure: CorruptTableError | None = None
        try:
            if archive.has(instant):
                return True
        except CorruptTableError as error:
            failure = error
        if self._rolled_back.has(instant):
            return False
        if failure is not None:
            raise failure
        if archive.rolled_back_by(instant) is not None:
            return False
        return True if precedes(instant, self._timeline.lost_before) else None


def built_upon(timeline: ActiveTimeline, clock: Clock) -> frozenset[str]:
    """Instants of base files that completed writes on the timeline merged, logged upon or save: they were completed
    then. A log alone proves nothing of its slice, which may be that of a compaction that was only planned.
    """
    found: set[str] = set()
    for one in timeline.completed_commits():
        for stat in timeline.commit_metadata(one, clock).write_stats:
            if stat.is_log_append:
                found.update(_instants(timeline.format, [stat.base_file]))
            elif stat.prev_commit != NO_PREVIOUS_COMMIT:
                found.add(stat.prev_commit)
    for one in timeline.completed(Action.SAVEPOINT):
        found.update(_instants(timeline.format, timeline.savepoint(one, clock).names))
    return frozenset(found)


def written_by(timeline: ActiveTimeline, clock: Clock, instant: str) -> frozenset[str] | None:
    """Relative paths of the files that a completed write says it made, by the timeline or the archive; None where
    neither has it.
    """
    for one in timeline.find(instant):
        if one.is_completed and one.action in COMMITS:
            return written_paths(timeline.commit_metadata(one, clock).write_stats)
    archived = timeline.archive.commit_metadata(instant)
    return None if archived is None else written_paths(archived.write_stats)


def _instants(format: TableFormat, names: Iterable[str]) -> set[str]:
    parsed = (format.parse_base_file(name) for name in names)
    return {name.instant for name in parsed if name is not None}
