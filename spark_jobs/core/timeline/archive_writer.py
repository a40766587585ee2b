"""Moving instants to the archive (Hudi: HoodieTimelineArchiver).

When to archive, and what, is the caller's; so is the table lock, which it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.core.errors import InstantStateError
from spark_jobs.core.files.markers import delete_markers, marker_sizes
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.order import by_time, earliest
from spark_jobs.core.storage import FileStatus
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archive.form import ArchivePlace, LeavingState
from spark_jobs.core.timeline.archived import ArchivedTimeline


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveResult:
    """What an archival did: the file that it wrote (None: all entries stood in the archive already), how many entries
    are in it, and the instants that left the active timeline.
    """

    path: str | None
    entries: int
    instants: tuple[Instant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedArchival:
    """An archival to the byte, before anything is changed.

    ``data`` goes to ``path`` (None: all entries stand in the archive already) and holds ``entries``; then ``markers``,
    files that are left of instants, and the files of all ``states`` go, in Hudi's order.
    """

    path: str | None
    data: bytes
    entries: int
    states: tuple[tuple[Instant, FileStatus], ...]
    markers: Mapping[str, Mapping[str, int]]
    """Of an instant: bytes by path."""

    @property
    def leaving(self) -> list[tuple[Instant, FileStatus]]:
        """What goes of the active timeline: pending states, then completed ones, oldest first; so no plan looks pending
        again after a crash.
        """
        done = [one for one in self.states if one[0].is_completed]
        pending = [one for one in self.states if not one[0].is_completed]
        return [*pending, *by_time(done, lambda one: one[0].timestamp)]


def archive(
    timeline: ActiveTimeline, base_path: str, instants: Sequence[Instant], *, batch_size: int = 10
) -> ArchiveResult:
    """Write all states of completed instants to a new archive file, then take them off the active timeline.

    :param instants: completed ones, in the order in which their entries are to stand.
    :param batch_size: entries of a block (``hoodie.commits.archival.batch``).
    :raises InstantStateError: an instant that is not completed.
    :raises UnsupportedTableError: an action that has no form in the archive.
    """
    prepared = prepare_archival(timeline, base_path, instants, batch_size=batch_size)
    timeline.archive_place.settle()
    return carry_out_archival(timeline.archive_place, base_path, prepared)


def prepare_archival(
    timeline: ActiveTimeline, base_path: str, instants: Sequence[Instant], *, batch_size: int = 10
) -> PreparedArchival:
    """What :func:`archive` does, with nothing changed; a merge of archive files that broke off is settled before it is
    carried out. Entries that stand in the archive already, after a crash, are not written again.
    """
    for instant in instants:
        if not instant.is_completed:
            raise InstantStateError(
                f"{instant} can't be archived before it is completed", instant=instant.timestamp, state=instant.state
            )
    storage, place = timeline.storage, timeline.archive_place
    states = _states(timeline, instants) if instants else []
    before = ArchivedTimeline.load(place, earliest(one.timestamp for one, _ in states)).states if states else {}
    fresh = [(state, status) for state, status in states if state not in before]
    there = [status.path for status in place.newest_first()] if fresh else []
    leaving = [LeavingState(state, storage.read(status.path), status.modified_ms) for state, status in fresh]
    return PreparedArchival(
        path=place.form.new_path(place.folder, there, [state for state, _ in fresh]) if fresh else None,
        data=place.form.encode(leaving, batch_size) if fresh else b"",
        entries=len(fresh),
        states=tuple(states),
        markers=marker_sizes(storage, base_path, {instant.timestamp for instant in instants}) if instants else {},
    )


def carry_out_archival(place: ArchivePlace, base_path: str, prepared: PreparedArchival) -> ArchiveResult:
    """Hudi's order: first the entries, then what they are of; so a crash loses nothing."""
    storage = place.storage
    if prepared.path is not None:
        place.form.add(storage, place.folder, prepared.path, prepared.data)
    for instant in prepared.markers:
        delete_markers(storage, base_path, instant)
    for _, status in prepared.leaving:
        storage.delete(status.path)
    gone = tuple(state for state, _ in prepared.leaving if state.is_completed)
    return ArchiveResult(path=prepared.path, entries=prepared.entries, instants=gone)


def _states(timeline: ActiveTimeline, instants: Iterable[Instant]) -> list[tuple[Instant, FileStatus]]:
    """Every state of the instants that is on storage, by instant as given, then requested, inflight, completed."""
    wanted = {(one.timestamp, one.comparable_action): place for place, one in enumerate(instants)}
    found = []
    for status in timeline.storage.list(timeline.folder):
        state = timeline.format.parse_instant(status.name)
        if state is not None and (state.timestamp, state.comparable_action) in wanted:
            found.append((state, status))
    return sorted(found, key=lambda one: (wanted[one[0].timestamp, one[0].comparable_action], one[0].rank))
