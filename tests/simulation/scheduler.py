"""Threads of simulated processes, of which one runs at a time: at each step one random generator says who goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from random import Random

from tests.simulation.pace import Pace
from tests.simulation.weather import Fault

MOST_STEPS = 60_000
"""More than any world takes whose processes come to an end."""
_SLOW_CALL = 0.004
_AIMED_SWITCH = 0.5


class Crash(BaseException):
    """The end of a simulated process: from then on every call of it raises this, and nothing of it has an effect."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to a process at a call, after so many others."""

    fault: Fault
    calls: int


@dataclass(eq=False, kw_only=True)
class Process:
    """A process of a simulated host, whose clock is ``skew_ms`` ahead of the storage's. An executor does tasks for
    another process, and holds no lock.
    """

    pid: int
    role: str
    host: str
    skew_ms: int
    is_dead: bool = False
    suspended_at: float = 0.0
    suspended_until: float = 0.0
    fate: Fate | None = None
    wakes_by: float = float("inf")
    """A suspension is over then."""
    is_executor: bool = False
    is_foreign: bool = False

    @property
    def was_silent(self) -> bool:
        """Whether others may take it for gone."""
        return self.is_dead or self.suspended_until > 0


class Task:
    """One thread. That of a role runs its processes one after the other, and is of none in between."""

    def __init__(self, name: str, process: Process | None, work: Callable[[], object], wakes_at: float) -> None:
        self.name = name
        self.process = process
        self.work = work
        self.wakes_at = wakes_at
        self.awaits: Task | None = None
        self.is_over = False
        self.is_begun = False
        self.is_before_change = False
        self.error: BaseException | None = None
        self._baton = threading.Semaphore(0)

    @property
    def ready_at(self) -> float:
        """By the simulated clock; infinite while it waits for another task."""
        if self.process is not None and self.process.is_dead:
            return 0.0
        if self.awaits is not None and not self.awaits.is_over:
            return float("inf")
        return max(self.wakes_at, self.process.suspended_until if self.process else 0.0)

    def run_with(self, body: Callable[[Task], None]) -> None:
        """Begin or go on."""
        if self.is_begun:
            self._baton.release()
            return
        self.is_begun = True
        threading.Thread(target=body, args=(self,), name=self.name, daemon=True).start()

    def wait(self) -> None:
        self._baton.acquire()


class Scheduler:
    """``now_ms`` since the simulation began. What is asked of it outside of :meth:`run` happens at once.

    :param switch: how likely a step is to let another task go on.
    :param without_switches: steps that let none go on although it was drawn.
    """

    def __init__(self, random: Random, switch: float, pace: Pace, without_switches: Collection[int] = ()) -> None:
        self.random = random
        self.now_ms = 0.0
        self.steps = 0
        self.current: Task | None = None
        self.switches: list[int] = []
        self.ended_by = ""
        self.on_death: list[Callable[[Process], None]] = []
        self._switch = switch
        self._pace = pace
        self._without_switches = frozenset(without_switches)
        self._tasks: list[Task] = []
        self._suspended: list[Process] = []
        self._is_over = threading.Event()

    @property
    def process(self) -> Process | None:
        return None if self.current is None else self.current.process

    def add(self, task: Task) -> None:
        self._tasks.append(task)

    def remove(self, task: Task) -> None:
        """One that has not begun."""
        task.is_over = True
        self._tasks.remove(task)

    def run(self) -> None:
        """Until all tasks are over."""
        self._is_over.clear()
        if self._tasks:
            self._leave()
            self._is_over.wait()

    def step(self, call: str, path: str, *, is_change: bool = False, is_aimed: bool = False) -> None:
        """Let some milliseconds pass before a call, and perhaps others go on first.

        :param is_aimed: others go on as likely as not.
        :raises Crash: the process is dead, or was killed meanwhile.
        """
        self.now_ms += self._latency()
        own = self.current
        if own is None:
            return
        self.check()
        self.steps += 1
        if self.steps > MOST_STEPS:
            self.end(f"no end after {MOST_STEPS} steps")
        own.is_before_change = is_change
        self._hand_on(own, max(self._switch, _AIMED_SWITCH) if is_aimed else self._switch)
        own.is_before_change = False

    def sleep(self, seconds: float) -> None:
        if self.current is None:
            self.now_ms += seconds * 1000
            return
        self.check()
        self.current.wakes_at = self.now_ms + seconds * 1000
        self._hand_on(self.current)

    def join(self, task: Task) -> None:
        own = self.current
        assert own is not None
        own.awaits = task
        self._hand_on(own)
        own.awaits = None

    def suspend(self, process: Process, ms: float) -> None:
        """Stop all its threads."""
        process.suspended_at, process.suspended_until = self.now_ms, self.now_ms + ms
        self._suspended.append(process)
        assert self.current is not None
        self._hand_on(self.current)

    def wake_some(self) -> None:
        """Of the processes that are suspended."""
        self._suspended = [one for one in self._suspended if not one.is_dead and one.suspended_until > self.now_ms]
        for process in self._suspended:
            is_due = self.now_ms - process.suspended_at >= self._pace.wakes_after_ms
            if is_due and self.random.random() < self._pace.waking:
                process.suspended_until = self.now_ms

    def kill(self, process: Process) -> None:
        """Those of its tasks that have begun unwind when their turn comes."""
        process.is_dead = True
        for hook in self.on_death:
            hook(process)
        for task in [one for one in self._tasks if one.process is process and not one.is_begun]:
            self.remove(task)

    def kill_all(self) -> None:
        for process in {one.process: None for one in self._tasks if one.process is not None}:
            self.kill(process)

    def end(self, why: str) -> None:
        """Let all processes die."""
        self.ended_by = self.ended_by or why

    def check(self) -> None:
        """
        :raises Crash: the running process is dead.
        """
        if self.ended_by or (self.process is not None and self.process.is_dead):
            raise Crash(self.ended_by)

    def is_before_change(self, process: Process) -> bool:
        """Whether a thread of it stands right before a call that changes something."""
        return any(one.is_before_change for one in self._tasks if one.process is process)

    def _latency(self) -> float:
        if self.random.random() < _SLOW_CALL:
            return self.random.uniform(0, self._pace.slow_ms)
        return self.random.choice(self._pace.latencies_ms)

    def _hand_on(self, own: Task, switch: float = 1.0) -> None:
        following = self._chosen(own, switch)
        if following is not own:
            self.current = following
            following.run_with(self._body)
            own.wait()
        self.check()

    def _chosen(self, own: Task | None, switch: float = 1.0) -> Task:
        if self.ended_by:  # each unwinds to its end
            return own if own is not None and own in self._tasks else self._tasks[0]
        ready = [one for one in self._tasks if one.ready_at <= self.now_ms]
        if not ready:
            at = min(one.ready_at for one in self._tasks)
            if at == float("inf"):
                self.end("all tasks wait for each other")
                return self._chosen(own)
            self.now_ms = at
            ready = [one for one in self._tasks if one.ready_at <= at]
        return self._next(ready, own, switch)

    def _next(self, ready: Sequence[Task], own: Task | None, switch: float) -> Task:
        """
        :param switch: how likely it is that another goes on than ``own``, where that can.
        """
        if own is None or own not in ready:
            return self.random.choice(ready)
        if self.random.random() >= switch:
            return own
        following = self.random.choice(ready)
        if following is own or self.steps in self._without_switches:
            return own
        self.switches.append(self.steps)
        return following

    def _leave(self) -> None:
        for task in [one for one in self._tasks if self.ended_by and not one.is_begun]:
            self.remove(task)
        if not self._tasks:
            self.current = None
            self._is_over.set()
            return
        self.current = self._chosen(None)
        self.current.run_with(self._body)

    def _body(self, task: Task) -> None:
        try:
            task.work()
        except Crash:
            pass
        except BaseException as error:
            task.error = error
            self.end(f"thread {task.name} ended by {type(error).__name__}: {error}")
        finally:
            task.is_over = True
            self._tasks.remove(task)
            self._leave()
