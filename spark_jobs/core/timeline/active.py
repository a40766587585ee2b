"""The active timeline: loaded once as a value, its payloads read when asked for (Hudi: HoodieActiveTimeline)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.avro_codec import decode_payload
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.instant import COMMITS, WRITES, Action, Instant, State, parse_instant

T = TypeVar("T")
_TRIES = 5
_ARCHIVE_PREFIX = ".commits_.archive."


@dataclass(frozen=True, slots=True)
class ActiveTimeline:
    """The instants of one load, each in its highest state, sorted by time.

    ``moved_ms`` tells when an instant reached its state (milliseconds since the epoch, by its file).
    """

    storage: Storage
    folder: str
    instants: tuple[Instant, ...]
    moved_ms: dict[Instant, int]
    archive_folder: str
    has_archive: bool

    @staticmethod
    def load(storage: Storage, folder: str, archive_folder: str) -> ActiveTimeline:
        """List the folder once; files that are no timeline files are passed over.

        :param archive_folder: where archived instants go; whether anything is there tells if old ones were archived.
        """
        highest: dict[tuple[str, Action], tuple[Instant, int]] = {}
        for status in storage.list(folder):
            instant = None if status.is_directory else parse_instant(status.name)
            if instant is None:
                continue
            key = (instant.timestamp, instant.comparable_action)
            if key not in highest or highest[key][0].rank < instant.rank:
                highest[key] = (instant, status.modified_ms)
        moved = dict(highest.values())
        ordered = sorted(moved, key=lambda one: (one.timestamp, one.comparable_action.value, one.rank))
        return ActiveTimeline(
            storage, folder, tuple(ordered), moved, archive_folder, _has_archive(storage, archive_folder)
        )

    def reload(self) -> ActiveTimeline:
        return ActiveTimeline.load(self.storage, self.folder, self.archive_folder)

    def filter(self, keep: Callable[[Instant], bool]) -> tuple[Instant, ...]:
        return tuple(one for one in self.instants if keep(one))

    def completed_commits(self) -> tuple[Instant, ...]:
        """Completed commits, delta commits and replace commits, oldest first."""
        return self.filter(lambda one: one.is_completed and one.action in COMMITS)

    def pending(self, actions: Iterable[Action]) -> tuple[Instant, ...]:
        wanted = frozenset(actions)
        return self.filter(lambda one: not one.is_completed and one.action in wanted)

    def pending_writes(self) -> tuple[Instant, ...]:
        return self.pending(WRITES)

    def completed(self, action: Action) -> tuple[Instant, ...]:
        return self.filter(lambda one: one.is_completed and one.action is action)

    def last_completed(self) -> Instant | None:
        """The newest completed commit, delta commit or replace commit."""
        commits = self.completed_commits()
        return commits[-1] if commits else None

    @property
    def last_time(self) -> str:
        """The greatest instant of any action and state; empty on a new table."""
        return max((one.timestamp for one in self.instants), default="")

    @property
    def start(self) -> str:
        """The first write of the active timeline: a completed one that is older was archived. Empty while nothing was.

        Cleans and rollbacks are archived by counts of their own, so old ones of them say nothing.
        """
        if not self.has_archive:
            return ""
        return min((one.timestamp for one in self.instants if one.action in WRITES), default="")

    def find(self, timestamp: str) -> tuple[Instant, ...]:
        return self.filter(lambda one: one.timestamp == timestamp)

    def path(self, instant: Instant) -> str:
        return f"{self.folder}/{instant.file_name}"

    def read(self, instant: Instant) -> bytes:
        return self.storage.read(self.path(instant))

    def commit_metadata(self, instant: Instant, clock: Clock) -> CommitMetadata:
        """The metadata of a commit-like instant.

        Hudi 0.15 does not publish completed files atomically on a local disk: one that is empty or cut is read again
        for a second before it counts as corrupt.
        """
        return self._patient(instant, clock, lambda data: CommitMetadata.decode(data, instant.file_name))

    def payload(self, instant: Instant, clock: Clock) -> dict[str, Any]:
        """The Avro record of a plan or result."""
        return self._patient(instant, clock, lambda data: decode_payload(data, instant.file_name))

    def _patient(self, instant: Instant, clock: Clock, decode: Callable[[bytes], T]) -> T:
        for attempt in range(_TRIES):
            data = self.read(instant)
            try:
                if data or not instant.is_completed or attempt == _TRIES - 1:
                    return decode(data)
            except CorruptTableError:
                if attempt == _TRIES - 1:
                    raise
            clock.sleep(0.2)
        raise CorruptTableError(f"{instant.file_name} stays unreadable")


def _has_archive(storage: Storage, archive_folder: str) -> bool:
    return any(status.name.startswith(_ARCHIVE_PREFIX) for status in storage.list(archive_folder))


def transition(timeline: ActiveTimeline, instant: Instant, state: State, data: bytes) -> Instant:
    """Write the file of the next state; the file of the state before must be there.

    :raises CorruptTableError: the instant is not in the state before.
    :raises AlreadyExistsError: another process made the same step.
    """
    if timeline.storage.stat(timeline.path(instant)) is None:
        raise CorruptTableError(
            f"{instant.file_name} is gone, {instant} can't become {state.value}", instant=instant.timestamp
        )
    moved = instant.at(state)
    timeline.storage.create(timeline.path(moved), data)
    return moved


def request(timeline: ActiveTimeline, timestamp: str, action: Action, data: bytes = b"") -> Instant:
    """Put a new instant on the timeline; ``data`` is the plan where the action has one.

    :raises AlreadyExistsError: the instant is taken.
    """
    instant = Instant(timestamp, action, State.REQUESTED)
    timeline.storage.create(timeline.path(instant), data)
    return instant
