"""What goes wrong at which step, drawn from the generator of the scheduler."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random


class Fault(Enum):
    """What happens at a call."""

    CRASH_BEFORE = "dies before it"
    CRASH_AFTER = "dies after it"
    REFUSE = "is refused"
    LOSE_ANSWER = "gets no answer to it"
    SUSPEND = "is suspended before it"
    POWER_LOSS = "loses power after it, and all others too"
    JUMP = "has its clock set before it"


ON_A_DISK = frozenset({Fault.POWER_LOSS, Fault.JUMP})
"""A store of objects has what it took, and its lock needs clocks that agree."""


class Place(Enum):
    """What a path is of a table."""

    TIMELINE = "timeline"
    LOCK = "lock"
    HEARTBEAT = "heartbeats"
    MARKER = "markers"
    METADATA = "metadata table"
    ARCHIVE = "archive"
    DATA = "data"


_FOLDERS = {
    "/.hoodie/metadata/": Place.METADATA,
    "/.hoodie/.heartbeat/": Place.HEARTBEAT,
    "/.hoodie/.temp/": Place.MARKER,
    "/.hoodie/archived/": Place.ARCHIVE,
    "/.hoodie/.locks/": Place.LOCK,
    "/.hoodie/lock": Place.LOCK,
    "/.hoodie/": Place.TIMELINE,
}


def place_of(path: str) -> Place:
    return next((place for folder, place in _FOLDERS.items() if folder in path), Place.DATA)


_OF_READS = (Fault.CRASH_BEFORE, Fault.REFUSE, Fault.SUSPEND, Fault.JUMP)
_OF_GUARDS = (*_OF_READS, Fault.CRASH_AFTER)
_OF_CHANGES = (*_OF_GUARDS, Fault.LOSE_ANSWER, Fault.SUSPEND, Fault.POWER_LOSS)
_HOW_OFTEN = {"read": 1, "guard": 4, "change": 4}
_AIMED = 0.12


@dataclass(slots=True)
class Weather:
    """``rate`` of faults at each call that reads, ``most`` of them in all.

    :param kinds: of faults that happen.
    :param aim: where calls that change something fail much more often, and others go on between any two.
    :param without: steps at which nothing goes wrong although it was drawn.
    :param longest_at_change_ms: of a suspension right before a change, where the storage trusts that none is longer.
    """

    rate: float
    most: int
    kinds: Collection[Fault] = tuple(Fault)
    aim: Place | None = None
    without: frozenset[int] = frozenset()
    suspensions_ms: Sequence[float] = (1_500,)
    longest_at_change_ms: float = float("inf")
    is_calm: bool = False
    faults: list[int] = field(default_factory=list)
    """Steps."""

    def at(self, step: int, random: Random, kind: str, place: Place) -> Fault | None:
        """
        :param kind: read, guard or change.
        """
        if self.is_calm or len(self.faults) >= self.most:
            return None
        is_aimed = place is self.aim and kind != "read"
        if random.random() >= self.rate * _HOW_OFTEN[kind] + _AIMED * is_aimed:
            return None
        possible = {"read": _OF_READS, "guard": _OF_GUARDS}.get(kind, _OF_CHANGES)
        some = [one for one in possible if one in self.kinds]
        if not some:
            return None
        fault = random.choice(some)
        if step in self.without:
            return None
        self.faults.append(step)
        return fault

    def suspension_ms(self, random: Random, *, is_change: bool) -> float:
        found = random.choice(self.suspensions_ms)
        return min(found, self.longest_at_change_ms) if is_change else found
