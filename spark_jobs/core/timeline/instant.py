"""Instants and their file names (Hudi: HoodieInstant, HoodieInstantTimeGenerator); table version 6, layout 1."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from operator import itemgetter

from spark_jobs.core.config.keys.table import TimelineZone
from spark_jobs.core.errors import ConfigError, CorruptTableError
from spark_jobs.core.format.order import follows, is_from, is_up_to, precedes


class Action(StrEnum):
    COMMIT = "commit"
    DELTA_COMMIT = "deltacommit"
    REPLACE_COMMIT = "replacecommit"
    COMPACTION = "compaction"
    LOG_COMPACTION = "logcompaction"
    CLEAN = "clean"
    ROLLBACK = "rollback"
    RESTORE = "restore"
    SAVEPOINT = "savepoint"
    INDEXING = "indexing"
    SCHEMA_COMMIT = "schemacommit"


class State(StrEnum):
    REQUESTED = "requested"
    INFLIGHT = "inflight"
    COMPLETED = "completed"


_RANK = {State.REQUESTED: 0, State.INFLIGHT: 1, State.COMPLETED: 2}
_COMPARABLE = {Action.COMPACTION: Action.COMMIT, Action.LOG_COMPACTION: Action.DELTA_COMMIT}
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d{3}))?)?")

COMMITS = frozenset({Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT})
"""Actions whose completed form adds data."""
WRITES = COMMITS | {Action.COMPACTION, Action.LOG_COMPACTION}
"""Actions that make or will make file slices."""


@dataclass(frozen=True, slots=True)
class Instant:
    """One point of the timeline: its time (digits, compared as text), what it does, how far it is."""

    timestamp: str
    action: Action
    state: State

    @property
    def is_completed(self) -> bool:
        return self.state is State.COMPLETED

    @property
    def comparable_action(self) -> Action:
        """A compaction ends as a commit, a log compaction as a delta commit."""
        return _COMPARABLE.get(self.action, self.action)

    def precedes(self, time: str) -> bool:
        """Whether it began before a time."""
        return precedes(self.timestamp, time)

    def follows(self, time: str) -> bool:
        """Whether it began after a time."""
        return follows(self.timestamp, time)

    def is_from(self, begin: str) -> bool:
        """Whether it began at a time or after it."""
        return is_from(self.timestamp, begin)

    def is_visible_at(self, moment: str | None) -> bool:
        """Whether a reader of a moment (inclusive; None: now) takes it, once it is completed."""
        return is_up_to(self.timestamp, moment)

    @property
    def rank(self) -> int:
        return _RANK[self.state]

    @property
    def file_name(self) -> str:
        """The name below the timeline folder; ``T.inflight`` is how an inflight commit is spelled."""
        if self.state is State.COMPLETED:
            return f"{self.timestamp}.{self.comparable_action.value}"
        if self.action is Action.COMMIT and self.state is State.INFLIGHT:
            return f"{self.timestamp}.inflight"
        return f"{self.timestamp}.{self.action.value}.{self.state.value}"

    def at(self, state: State) -> Instant:
        """The same instant in another state."""
        action = self.comparable_action if state is State.COMPLETED else self.action
        return Instant(self.timestamp, action, state)

    def __str__(self) -> str:
        return f"{self.timestamp} {self.action.value} ({self.state.value})"


def _spellings() -> dict[str, tuple[Action, State]]:
    """What stands behind the time in a file's name -> what it says."""
    out = {}
    for action in Action:
        for state in State:
            instant = Instant("0", action, state).at(state)
            out[instant.file_name.partition(".")[2]] = (instant.action, state)
    del out["savepoint.requested"]  # a savepoint begins inflight
    return out


_SPELLINGS = _spellings()


def parse_instant(file_name: str) -> Instant | None:
    """The instant that a file of the timeline folder stands for; None for any other file."""
    timestamp, _, spelling = file_name.partition(".")
    known = _SPELLINGS.get(spelling)
    if known is None or not (timestamp.isdigit() and timestamp.isascii()):
        return None
    return Instant(timestamp, *known)


def highest_states(names: Iterable[tuple[str, int]]) -> list[tuple[Instant, int]]:
    """Each instant in its highest state, sorted by time, with the number that came beside its file's name.

    The same as by :func:`parse_instant` and :attr:`Instant.rank`, for the tens of thousands of files of a long
    timeline: an object is made for what is kept alone.
    """
    highest: dict[tuple[str, Action], tuple[int, Action, State, int]] = {}
    for name, number in names:
        timestamp, _, spelling = name.partition(".")
        known = _RANKED.get(spelling)
        if known is None or not (timestamp.isdigit() and timestamp.isascii()):
            continue
        comparable, rank, action, state = known
        key = (timestamp, comparable)
        if key not in highest or highest[key][0] < rank:
            highest[key] = (rank, action, state, number)
    ordered = sorted(highest.items(), key=_by_key)
    return [(Instant(key[0], action, state), number) for key, (_, action, state, number) in ordered]


_RANKED = {
    spelling: (_COMPARABLE.get(action, action), _RANK[state], action, state)
    for spelling, (action, state) in _SPELLINGS.items()
}
_by_key: Callable[[tuple[tuple[str, Action], object]], tuple[str, Action]] = itemgetter(0)


def order_of(instant: Instant) -> tuple[str, str]:
    """A key to sort by: the timeline's order, in which instants of one time stand by what they do."""
    return (instant.timestamp, instant.comparable_action.value)


def in_order(instants: Iterable[Instant]) -> list[Instant]:
    """As the timeline has them: oldest first."""
    return sorted(instants, key=order_of)


def format_instant(moment: datetime, zone: TimelineZone) -> str:
    """17 digits, ``yyyyMMddHHmmssSSS``, in the zone that the table keeps its timeline in."""
    local = moment if zone is TimelineZone.UTC else moment.astimezone()
    return local.strftime("%Y%m%d%H%M%S") + f"{local.microsecond // 1000:03d}"


_BEGINNINGS = frozenset(f"{number:014d}" for number in range(3))


def parse_instant_time(timestamp: str) -> datetime:
    """The wall-clock moment in an instant, without a zone; 14 digits mean the last millisecond of their second. Those
    by which Hudi begins a table or a bootstrap are as early as can be (Hudi: NOT_PARSABLE_TIMESTAMPS).

    :raises CorruptTableError: the calendar has no such moment.
    """
    if timestamp in _BEGINNINGS:
        return datetime(1970, 1, 1)
    digits = timestamp[:17] if len(timestamp) >= 17 else timestamp[:14] + "999"
    try:
        return datetime.strptime(digits[:14], "%Y%m%d%H%M%S") + timedelta(milliseconds=int(digits[14:17]))
    except (ValueError, OverflowError) as error:
        raise CorruptTableError(
            f"the timeline has the instant {timestamp[:40]}, which is no moment of the calendar", instant=timestamp
        ) from error


def next_instant_time(moment: datetime, zone: TimelineZone, after: str) -> str:
    """An instant for ``moment`` that is strictly greater than ``after``, whatever the clocks say.

    :raises CorruptTableError: the calendar ends with ``after``.
    """
    candidate = format_instant(moment, zone)
    if follows(candidate, after):
        return candidate
    try:
        later = parse_instant_time(after) + timedelta(milliseconds=1)
    except OverflowError as error:
        raise CorruptTableError(f"the timeline has the instant {after[:40]}, which none can follow") from error
    return later.strftime("%Y%m%d%H%M%S") + f"{later.microsecond // 1000:03d}"


def _is_moment(text: str) -> bool:
    """Whether the calendar has it; 2026-13-45 has the form of a date alone."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def query_instant(text: str) -> str:
    """The instant that a user means: digits as they are, or Hudi's spellings ``yyyy-MM-dd`` (its first moment),
    ``yyyy-MM-dd HH:mm:ss`` (the end of that second) and ``yyyy-MM-dd HH:mm:ss.SSS``; ``earliest`` is before all.

    :raises ConfigError: any other text.
    """
    if text in ("", "earliest"):
        return "000"
    if text.isdigit() and text.isascii():
        return text
    match = _DATE.fullmatch(text.strip())
    if match is None or not _is_moment(text.strip()):
        raise ConfigError(f"{text} is no instant", todo="give its digits, or yyyy-MM-dd HH:mm:ss")
    year, month, day, time, millis = match.groups()
    if time is None:
        return f"{year}{month}{day}000000000"
    return f"{year}{month}{day}{time.replace(':', '')}{millis or '999'}"
