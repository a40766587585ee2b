"""The archived timeline: loaded once as a value, its payloads read when asked for (Hudi: HoodieArchivedTimeline)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any, TypeVar

from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.format.instant import Action, Instant, in_order
from spark_jobs.core.format.instant_time import parse_instant_time
from spark_jobs.core.format.order import is_up_to
from spark_jobs.core.storage import FileStatus
from spark_jobs.core.timeline.archive.form import ArchivedState, ArchivePlace
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.results import CleanResult

T = TypeVar("T")
_TRIES = 5
_SKEW = timedelta(days=2)
"""How far the instants of a table and the clock of its storage may lie apart: time zones, and clocks gone wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedTimeline:
    """The archived instants of a range, each in its highest state, sorted by time.

    ``states`` has every archived state; one that was archived twice, after a crash, is there once.
    """

    place: ArchivePlace
    begin: str
    end: str | None
    instants: tuple[Instant, ...]
    states: Mapping[Instant, ArchivedState]

    @staticmethod
    def load(place: ArchivePlace, begin: str = "", end: str | None = None) -> ArchivedTimeline:
        """Read when, what and how far each entry is; plans and metadata stay unread.

        :param begin: the oldest time, inclusive; files last written before it are not opened.
        :param end: the newest time, inclusive; None for no bound.
        :raises CorruptTableError: a file that is no archive.
        """
        states: dict[Instant, ArchivedState] = {}
        for state in _entries(place, begin):
            if not state.instant.precedes(begin) and is_up_to(state.instant.timestamp, end):
                states.setdefault(state.instant, state)
        return ArchivedTimeline(place=place, begin=begin, end=end, instants=_highest(states), states=states)

    def reload(self) -> ArchivedTimeline:
        return ArchivedTimeline.load(self.place, self.begin, self.end)

    def completed(self, action: Action) -> tuple[Instant, ...]:
        return tuple(one for one in self.instants if one.is_completed and one.action is action)

    def commit_metadata(self, instant: Instant) -> CommitMetadata:
        """The metadata of a commit-like instant, as far as the archive keeps it."""
        form = self.place.form
        return self._ask(instant, lambda one: form.commit_metadata(self.place.storage, one)) or CommitMetadata()

    def payload(self, instant: Instant) -> dict[str, Any] | None:
        """The plan or result of an instant; None where the archive has none, as of a state without content."""
        return self._ask(instant, lambda one: self.place.form.payload(self.place.storage, one))

    def clean_result(self, clean: Instant) -> CleanResult | None:
        """What a completed clean did; None as :meth:`payload`."""
        raw = self.payload(clean)
        return None if raw is None else CleanResult.of(raw)

    def _ask(self, instant: Instant, read: Callable[[ArchivedState], T]) -> T:
        state = self.states.get(instant)
        if state is None:
            raise CorruptTableError(f"{instant} is not in the archive {self.place.folder}", instant=instant.timestamp)
        try:
            return read(state)
        except StorageError:
            moved = self.reload().states.get(instant)  # a merge of small files may have taken the file away
            if moved is None or moved.place == state.place:
                raise
            return read(moved)


def commits_that_say(place: ArchivePlace, text: str) -> Iterator[tuple[Instant, CommitMetadata]]:
    """Archived completed commits whose entry has a text anywhere in it, newest file first; no other is decoded."""
    needle = text.encode()
    for state in _entries(place, needle=needle):
        if state.instant.is_completed:
            metadata = place.form.commit_metadata(place.storage, state, (needle,))
            if metadata is not None:
                yield state.instant, metadata


def _entries(place: ArchivePlace, begin: str = "", needle: bytes = b"") -> Iterator[ArchivedState]:
    """What the entries are, newest file first, in files that may hold instants from ``begin`` on and where ``needle``
    may stand; some come more than once.
    """
    storage = place.storage
    for attempt in range(_TRIES):
        files = [status for status in place.newest_first() if not is_older(status, begin)]
        try:
            for status in files:
                yield from place.form.entries(storage, status, needle)
            return
        except StorageError:
            if attempt == _TRIES - 1 or all(storage.stat(status.path) is not None for status in files):
                raise
            # a merge of small files took one away meanwhile: what it held is in a file that was not listed


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
