"""The clock, the ids and the process table of a simulated world, as the code under test asks for them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from spark_jobs.core.clock import Repetition
from spark_jobs.core.locks.owner import Owner
from tests.simulation.scheduler import Process, Scheduler, Task

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class SimulatedClock:
    """Moves by the steps of a scheduler, by what is slept, and to the end of all waits where nobody can go on."""

    def __init__(self, scheduler: Scheduler, ids: Random) -> None:
        self._scheduler = scheduler
        self._ids = ids

    def now(self) -> datetime:
        process = self._scheduler.process
        return BEGIN + timedelta(milliseconds=self._scheduler.now_ms + (process.skew_ms if process else 0))

    def monotonic(self) -> float:
        return self._scheduler.now_ms / 1000

    def sleep(self, seconds: float) -> None:
        self._scheduler.sleep(seconds)

    def new_uuid(self) -> str:
        return str(UUID(int=self._ids.getrandbits(128), version=4))

    def every(self, seconds: float, work: Callable[[], bool], name: str) -> Repetition:
        return _RepeatedByTask(self._scheduler, seconds, work, name)


class _RepeatedByTask:
    """Its task begins when it is first due."""

    def __init__(self, scheduler: Scheduler, seconds: float, work: Callable[[], bool], name: str) -> None:
        self._scheduler = scheduler
        self._seconds = seconds
        self._work = work
        self._name = name
        self._task: Task | None = None
        self._is_stopped = False
        self._is_waiting = True

    def start(self) -> None:
        process = self._scheduler.process
        if process is None:
            return
        self._scheduler.check()
        due = self._scheduler.now_ms + self._seconds * 1000
        self._task = Task(self._name.split("-")[0], process, self._run, due)
        self._scheduler.add(self._task)

    def stop(self) -> None:
        self._is_stopped = True
        task = self._task
        if task is None or task.is_over or (task.process is not None and task.process.is_dead):
            return
        if not task.is_begun:
            self._scheduler.remove(task)
            return
        if self._is_waiting:
            task.wakes_at = 0.0
        self._scheduler.join(task)

    def _run(self) -> None:
        while not self._is_stopped:
            self._is_waiting = False
            if not self._work():
                return
            self._is_waiting = True
            if not self._is_stopped:
                self._scheduler.sleep(self._seconds)


class SimulatedProcesses:
    """A process sees those of its own host, whose ids begin with ``first``."""

    def __init__(self, scheduler: Scheduler, first: int = 100) -> None:
        self._scheduler = scheduler
        self._first = first
        self._processes: dict[int, Process] = {}

    def new(self, role: str, host: str, skew_ms: int) -> Process:
        pid = len(self._processes) + self._first
        self._processes[pid] = Process(pid=pid, role=role, host=host, skew_ms=skew_ms)
        return self._processes[pid]

    def own(self) -> Owner:
        process = self._scheduler.process
        if process is None:
            return Owner(host="nowhere", pid=1, started=1)
        return Owner(host=process.host, pid=process.pid, started=process.pid)

    def is_dead(self, owner: Owner) -> bool:
        if owner.host != self.own().host:
            return False
        process = self._processes.get(owner.pid)
        return process is None or process.is_dead
