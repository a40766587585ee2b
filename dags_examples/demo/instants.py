"""What happened to a table and when, for the picture: one :class:`Bar` per instant of its active timeline.

The instant's time says when it was planned, the modification times of its files when the work started and when it was
done. An instant that was rolled back has no files any more; the rollback names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.format.instant_time import TimelineZone, parse_instant_time
from spark_jobs.core.format.v6.instant_names import parse_instant
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable

ROLLED_BACK = "rolled back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One instant. ``started`` and ``finished`` are None while there is no inflight or completed file.

    ``label`` is the operation, or the action where none is recorded; ``rolled_back_by`` is the rollback's instant.
    """

    instant: str
    action: str
    label: str
    planned: datetime
    started: datetime | None = None
    finished: datetime | None = None
    rolled_back_by: str | None = None

    @property
    def last_moment(self) -> datetime:
        return max(moment for moment in (self.planned, self.started, self.finished) if moment is not None)


def read_bars(base_path: str, clock: Clock = SYSTEM_CLOCK, options: Mapping[str, str] | None = None) -> tuple[Bar, ...]:
    """The instants of a table, oldest first; those that were rolled back stand where they began.

    :param options: by which the storage of the table is reached.
    :raises StorageError: there is no readable table.
    """
    table = HudiTable.open(base_path, lake=Lake(clock=clock).reached_by(options))
    moments: dict[str, dict[State, Instant]] = {}
    moved: dict[Instant, datetime] = {}
    for status in table.storage.list(table.timeline.folder):
        instant = None if status.is_directory else parse_instant(status.name)
        if instant is not None:
            moments.setdefault(instant.timestamp, {})[instant.state] = instant
            moved[instant] = datetime.fromtimestamp(status.modified_ms / 1000, UTC)
    bars = []
    for states in moments.values():
        bars.append(_bar(table, states, moved, clock))
        bars += _rolled_back(table, states.get(State.COMPLETED), clock)
    return tuple(sorted(bars, key=lambda bar: bar.instant))


def _bar(table: HudiTable, states: Mapping[State, Instant], moved: Mapping[Instant, datetime], clock: Clock) -> Bar:
    """A compaction completes as a commit, so it is the first of the files that tells the action."""
    inflight, completed = states.get(State.INFLIGHT), states.get(State.COMPLETED)
    first = next(states[state] for state in State if state in states)
    label = first.action.value
    if completed is not None and completed.action in COMMITS and first.action is not Action.COMPACTION:
        label = table.timeline.commit_metadata(completed, clock).operation_type.value.lower()
    return Bar(
        instant=first.timestamp,
        action=first.action.value,
        label=label,
        planned=_moment(table, first.timestamp),
        started=moved[inflight] if inflight else None,
        finished=moved[completed] if completed else None,
    )


def _rolled_back(table: HudiTable, rollback: Instant | None, clock: Clock) -> list[Bar]:
    """A bar for each instant that a completed rollback took back."""
    if rollback is None or rollback.action is not Action.ROLLBACK:
        return []
    return [
        Bar(
            instant=rolled_back,
            action=ROLLED_BACK,
            label=ROLLED_BACK,
            planned=_moment(table, rolled_back),
            rolled_back_by=rollback.timestamp,
        )
        for rolled_back in table.timeline.payload(rollback, clock)["commitsRollback"]
    ]


def _moment(table: HudiTable, timestamp: str) -> datetime:
    """An instant in local time is taken in the zone of this machine."""
    moment = parse_instant_time(timestamp)
    utc = table.config.timezone is TimelineZone.UTC
    return moment.replace(tzinfo=UTC) if utc else moment.astimezone(UTC)
