"""How the files of the timeline folder are named: table version 6, timeline layout 1 (Hudi: HoodieInstant)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter

from spark_jobs.core.format.instant import COMPARABLE, RANK, Action, Instant, State


def file_name_of(instant: Instant) -> str:
    """The name below the timeline folder; ``T.inflight`` is how an inflight commit is spelled."""
    if instant.state is State.COMPLETED:
        return f"{instant.timestamp}.{instant.comparable_action.value}"
    if instant.action is Action.COMMIT and instant.state is State.INFLIGHT:
        return f"{instant.timestamp}.inflight"
    return f"{instant.timestamp}.{instant.action.value}.{instant.state.value}"


def _spellings() -> dict[str, tuple[Action, State]]:
    """What stands behind the time in a file's name -> what it says."""
    out = {}
    for action in Action:
        for state in State:
            instant = Instant("0", action, state).at(state)
            out[file_name_of(instant).partition(".")[2]] = (instant.action, state)
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

    The same as by :func:`parse_instant` and :attr:`~Instant.rank`, for the tens of thousands of files of a long
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
    spelling: (COMPARABLE.get(action, action), RANK[state], action, state)
    for spelling, (action, state) in _SPELLINGS.items()
}
_by_key: Callable[[tuple[tuple[str, Action], object]], tuple[str, Action]] = itemgetter(0)
