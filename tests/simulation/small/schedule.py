"""An order in which the calls of some processes happen, as a value, and the scheduler that follows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random

from tests.simulation.pace import Pace
from tests.simulation.scheduler import Scheduler, Task


class How(Enum):
    """What happens to a process at one of its calls, {}."""

    WAIT = "waits before {}"
    LAPSE = "is suspended before {}, until its leases are over"
    DIE = "dies before {}"


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """One that a role makes."""

    role: str
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Preemption:
    """``at`` is the number of the call in its world; ``then`` is the role that goes on."""

    at: int
    how: How
    then: str


Schedule = tuple[Preemption, ...]
"""By their numbers. A world that follows it is the same each time."""


class ScheduledScheduler(Scheduler):
    """A role goes on until it ends, waits for another, or is told to stop; then the one that was named, else the first
    that can. No time passes but where all sleep. Threads of heartbeats and renewals go on when they are due.

    :param lapse_ms: after which leases and heartbeats of a process are over that was suspended.
    """

    def __init__(self, pace: Pace, schedule: Schedule, roles: Sequence[str], lapse_ms: float) -> None:
        super().__init__(Random(0), 0.0, pace)
        self.calls: list[Call] = []
        self.tell: Callable[[str], None] = lambda what: None
        """Of the role that runs: what a preemption does to it."""
        self.left_at: dict[str, int] = {}
        """By role, how many calls there had been when it was over."""
        self._planned: Mapping[int, Preemption] = {one.at: one for one in schedule}
        self._order = tuple(roles)
        self._lapse_ms = lapse_ms
        self._roles: dict[str, Task] = {}

    def add(self, task: Task) -> None:
        super().add(task)
        if task.name in self._order:
            self._roles[task.name] = task

    def step(self, call: str, path: str, *, is_change: bool = False, is_aimed: bool = False) -> None:
        own = self.current
        if own is not None and own.name in self._roles:
            self.check()
            self._count(own, call, path, is_change=is_change)
        super().step(call, path, is_change=is_change)

    def _count(self, own: Task, call: str, path: str, *, is_change: bool) -> None:
        self.calls.append(Call(own.name, call, path))
        planned = self._planned.get(len(self.calls) - 1)
        process = own.process
        if planned is None or process is None:
            return
        self.tell(planned.how.value.format(f"{call} {path.rpartition('/')[2]}"))
        self._order = (planned.then, *(one for one in self._order if one != planned.then))
        own.is_before_change = is_change
        if planned.how is How.DIE:
            self.kill(process)
        elif planned.how is How.WAIT:
            self._hand_on(own)
        else:
            for task in self._roles.values():  # their heartbeats go on meanwhile
                if task is not own and not task.is_over:
                    task.wakes_at = max(task.wakes_at, self.now_ms + self._lapse_ms)
            self.suspend(process, 2 * self._lapse_ms)
        own.is_before_change = False
        self.check()

    def _leave(self) -> None:
        for role, task in self._roles.items():
            if task.is_over:
                self.left_at.setdefault(role, len(self.calls))
        super()._leave()

    def _latency(self) -> float:
        return 0.0

    def _next(self, ready: Sequence[Task], own: Task | None, switch: float) -> Task:
        if own in ready and switch < 1.0:
            return own
        due = next((one for one in ready if one.name not in self._roles), None)
        return due or next(one for name in self._order for one in ready if one.name == name)
