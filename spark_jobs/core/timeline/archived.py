"""The archived timeline: loaded once as a value, its payloads read when asked for (Hudi: HoodieArchivedTimeline)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any

from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.format.instant import Action, Instant, in_order
from spark_jobs.core.format.instant_time import parse_instant_time
from spark_jobs.core.format.order import is_up_to
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.archive_entries import commit_metadata_of, content_of, instant_of
from spark_jobs.core.timeline.archive_files import (
    EntryPlace,
    archive_blocks,
    is_unfinished_merge,
    list_archive,
    read_entry,
)
from spark_jobs.core.timeline.archive_listing import listed_entries
from spark_jobs.core.timeline.commit_metadata import CommitMetadata

_TRIES = 5
_SKEW = timedelta(days=2)
"""How far the instants of a table and the clock of its storage may lie apart: time zones, and clocks gone wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedState:
    """One archived state of an instant: when it was reached (an instant in local time, or None) and where it stands."""

    moved: str | None
    place: EntryPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedTimeline:
    """The archived instants of a range, each in its highest state, sorted by time.

    ``states`` has every archived state; one that was archived twice, after a crash, is there once.
    """

    storage: Storage
    folder: str
    begin: str
    end: str | None
    instants: tuple[Instant, ...]
    states: Mapping[Instant, ArchivedState]

    @staticmethod
    def load(storage: Storage, folder: str, begin: str = "", end: str | None = None) -> ArchivedTimeline:
        """Read when, what and how far each entry is; plans and metadata stay unread.

        :param begin: the oldest time, inclusive; files last written before it are not opened.
        :param end: the newest time, inclusive; None for no bound.
        :raises CorruptTableError: a file that is no archive.
        """
        states: dict[Instant, ArchivedState] = {}
        for entry, place in _entries(storage, folder, begin):
            instant = instant_of(entry)
            if instant is None or instant.precedes(begin) or not is_up_to(instant.timestamp, end):
                continue
            states.setdefault(instant, ArchivedState(moved=entry.get("stateTransitionTime"), place=place))
        return ArchivedTimeline(
            storage=storage, folder=folder, begin=begin, end=end, instants=_highest(states), states=states
        )

    def reload(self) -> ArchivedTimeline:
        return ArchivedTimeline.load(self.storage, self.folder, self.begin, self.end)

    def completed(self, action: Action) -> tuple[Instant, ...]:
        return tuple(one for one in self.instants if one.is_completed and one.action is action)

    def commit_metadata(self, instant: Instant) -> CommitMetadata:
        """The metadata of a commit-like instant, as far as the archive keeps it."""
        return commit_metadata_of(self._entry(instant), instant)

    def payload(self, instant: Instant) -> dict[str, Any] | None:
        """The plan or result of an instant; None where the archive has none, as of a state without content."""
        return content_of(self._entry(instant), instant)

    def _entry(self, instant: Instant) -> dict[str, Any]:
        state = self.states.get(instant)
        if state is None:
            raise CorruptTableError(f"{instant} is not in the archive {self.folder}", instant=instant.timestamp)
        try:
            return read_entry(self.storage, state.place)
        except StorageError:
            moved = self.reload().states.get(instant)  # a merge of small files may have taken the file away
            if moved is None or moved.place == state.place:
                raise
            return read_entry(self.storage, moved.place)


def commits_that_say(storage: Storage, folder: str, text: str) -> Iterator[tuple[Instant, CommitMetadata]]:
    """Archived completed commits whose entry has a text anywhere in it, newest file first.

    The bytes of the archive are read, but no entry is decoded in whose block the text does not occur.
    """
    needle = text.encode()
    for entry, place in _entries(storage, folder, needle=needle):
        instant = instant_of(entry)
        if instant is None or not instant.is_completed:
            continue
        if needle in storage.read(place.path, place.offset, place.length):
            yield instant, commit_metadata_of(read_entry(storage, place), instant)


def _entries(
    storage: Storage, folder: str, begin: str = "", needle: bytes = b""
) -> Iterator[tuple[dict[str, Any], EntryPlace]]:
    """What the entries are, newest file first, in files that may hold instants from ``begin`` on and blocks that hold
    ``needle``; some come more than once.
    """
    for attempt in range(_TRIES):
        files = [status for status in list_archive(storage, folder) if not is_older(status, begin)]
        try:
            for status in files:
                yield from entries_of_file(storage, folder, status, needle)
            return
        except StorageError:
            if attempt == _TRIES - 1 or all(storage.stat(status.path) is not None for status in files):
                raise
            # a merge of small files took one away meanwhile: what it held is in a file that was not listed


def entries_of_file(
    storage: Storage, folder: str, status: FileStatus, needle: bytes = b""
) -> Iterator[tuple[dict[str, Any], EntryPlace]]:
    """What the entries of one archive file are, in its order, in blocks that hold ``needle``.

    :raises CorruptTableError: it is no archive file; what could be read comes before.
    """
    try:
        with storage.open_input(status.path) as file:
            read = ((block, block.read_content()) for block in archive_blocks(file))
            yield from listed_entries((each for each in read if needle in each[1]), status.path)
    except CorruptTableError:
        # one that a merge was writing when it broke off is cut: all it should hold is elsewhere still
        if not is_unfinished_merge(storage, folder, status.name):
            raise


def is_older(status: FileStatus, begin: str) -> bool:
    """Whether a file can't hold an instant of ``begin`` or later: an instant is archived after its time."""
    if len(begin) < 14:
        return False
    try:
        bound = parse_instant_time(begin).replace(tzinfo=UTC) - _SKEW
    except (CorruptTableError, OverflowError):  # no moment of the calendar: any file may hold it
        return False
    return status.modified_ms < bound.timestamp() * 1000


def _highest(states: Mapping[Instant, ArchivedState]) -> tuple[Instant, ...]:
    highest: dict[tuple[str, Action], Instant] = {}
    for instant in states:
        key = (instant.timestamp, instant.comparable_action)
        if key not in highest or highest[key].rank < instant.rank:
            highest[key] = instant
    return tuple(in_order(highest.values()))
