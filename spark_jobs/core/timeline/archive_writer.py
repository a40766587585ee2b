"""Moving instants to the archive (Hudi: HoodieTimelineArchiver, archive format 1).

When to archive, and what, is the caller's; so is the table lock, which it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from spark_jobs.core.errors import InstantStateError
from spark_jobs.core.files.markers import delete_markers, marker_sizes
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.instant_time import TimelineZone, format_instant
from spark_jobs.core.format.order import by_time, earliest
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archive_entries import entry_of
from spark_jobs.core.timeline.archive_files import encode_entries, list_archive
from spark_jobs.core.timeline.archive_merge import next_archive_path, settle_merge
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
    settle_merge(timeline.storage, timeline.archive_folder)
    return carry_out_archival(timeline.storage, base_path, prepared)


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
    storage, folder = timeline.storage, timeline.archive_folder
    states = _states(timeline, instants) if instants else []
    before = (
        ArchivedTimeline.load(storage, folder, earliest(one.timestamp for one, _ in states)).states if states else {}
    )
    fresh = [(state, status) for state, status in states if state not in before]
    archives = [status.path for status in list_archive(storage, folder)] if fresh else []
    return PreparedArchival(
        path=next_archive_path(folder, archives) if fresh else None,
        data=_encoded(storage, fresh, batch_size),
        entries=len(fresh),
        states=tuple(states),
        markers=marker_sizes(storage, base_path, {instant.timestamp for instant in instants}) if instants else {},
    )


def carry_out_archival(storage: Storage, base_path: str, prepared: PreparedArchival) -> ArchiveResult:
    """Hudi's order: first the entries, then what they are of; so a crash loses nothing."""
    if prepared.path is not None:
        storage.create(prepared.path, prepared.data)
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


def _encoded(storage: Storage, states: Sequence[tuple[Instant, FileStatus]], batch_size: int) -> bytes:
    entries = [entry_of(state, storage.read(status.path), _moved(status)) for state, status in states]
    return b"".join(encode_entries(entries[at : at + batch_size]) for at in range(0, len(entries), batch_size))


def _moved(status: FileStatus) -> str:
    """When a state was reached, as Hudi writes it: the file's time as an instant in local time, on any table."""
    return format_instant(datetime.fromtimestamp(status.modified_ms / 1000, UTC), TimelineZone.LOCAL)
