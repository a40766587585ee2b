"""Tasks that run twice: Spark runs one again that it takes for slow or lost, while the first attempt may go on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, TypeVar

from spark_jobs.core.errors import StorageError
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.engine.local import LocalEngine
from tests.simulation.clock import SimulatedClock, SimulatedProcesses
from tests.simulation.scheduler import Fate, Process, Scheduler, Task
from tests.simulation.weather import Fault

Outcome = TypeVar("Outcome")
Piece = Callable[[TaskScope], Outcome]

_MOST = 4
"""Tasks of a world that run twice."""
_FATES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.SUSPEND, Fault.SUSPEND, None)
"""Of a first attempt: it is lost, or asleep for as long as the world's suspensions last, or only slow."""
_MOST_CALLS = 10
"""Of a first attempt before its fate; a task of these worlds makes some twenty."""
_PAUSES_MS = (0, 5, 20, 100)
"""Until the driver begins the second one."""
_KILLED = 0.3
"""How likely it is that the attempt that was slower is killed in time."""
_LONGEST_LOOK_SECONDS = 4.0


@dataclass(slots=True, kw_only=True)
class Attempts:
    """Draws the tasks that run twice. Attempts are processes of their own: they outlive the driver that began them.

    :param rate: how likely it is that a task runs twice.
    :param note: says something for the running process.
    :param without: steps at which none does although it was drawn.
    """

    random: Random
    rate: float
    scheduler: Scheduler
    processes: SimulatedProcesses
    note: Callable[[str], None]
    without: Collection[int] = ()
    is_over: bool = False
    steps: list[int] = field(default_factory=list)

    def is_drawn(self) -> bool:
        """Whether the task that begins now runs twice."""
        scheduler = self.scheduler
        if self.is_over or scheduler.process is None or len(self.steps) >= _MOST:
            return False
        if self.random.random() >= self.rate or scheduler.steps in self.without:
            return False
        self.steps.append(scheduler.steps)
        return True

    def fate(self) -> Fate | None:
        fault = self.random.choice(_FATES)
        return None if fault is None else Fate(fault, self.random.randrange(_MOST_CALLS))

    def begin(self, name: str, work: Callable[[], Any], fate: Fate | None = None, pause_ms: float = 0) -> Attempt:
        """An attempt, by an executor on another machine than its driver's."""
        driver = self.scheduler.process
        assert driver is not None
        process = self.processes.new(f"{driver.role} {name}", f"executor of {driver.host}", 0)
        process.fate, process.is_executor = fate, True
        attempt = Attempt(process, self.note)
        attempt.task = Task(process.role, process, partial(attempt.run, work), self.scheduler.now_ms + pause_ms)
        self.scheduler.add(attempt.task)
        return attempt

    def end(self, attempt: Attempt) -> None:
        """Of one whose outcome nobody needs: it is killed, or nobody cares."""
        if not attempt.is_over and self.random.random() < _KILLED:
            self.scheduler.kill(attempt.process)


class Attempt:
    """``outcomes`` has one of a task that was done."""

    def __init__(self, process: Process, note: Callable[[str], None]) -> None:
        self.process = process
        self._note = note
        self.task: Task | None = None
        self.outcomes: list[Any] = []
        self.error: Exception | None = None

    def run(self, work: Callable[[], Any]) -> None:
        self._note("begins its attempt")
        try:
            self.outcomes.append(work())
            self._note("has done its attempt")
        except Exception as error:
            self.error = error
            self._note(f"could not: {type(error).__name__}: {error}")

    @property
    def is_over(self) -> bool:
        return self.task is None or self.task.is_over


class EngineOfAttempts(LocalEngine):
    """Does the pieces in its own process, but for those that are drawn: the first of their two attempts that is done
    counts.
    """

    def __init__(self, clock: SimulatedClock, attempts: Attempts) -> None:
        super().__init__(clock)
        self._attempts = attempts

    def _outcomes(self, pieces: Sequence[Piece[Outcome]], numbers: Iterable[int]) -> Iterator[Outcome]:
        return super()._outcomes([partial(self._done, piece) for piece in pieces], numbers)

    def _done(self, piece: Piece[Outcome], scope: TaskScope) -> Outcome:
        attempts = self._attempts
        if not attempts.is_drawn():
            return piece(scope)
        name = f"task {scope.task}"
        pause_ms = attempts.random.choice(_PAUSES_MS)
        first = attempts.begin(name, partial(piece, scope), attempts.fate())
        second = attempts.begin(
            f"{name} again", partial(piece, TaskScope.of_attempt(scope.task, self._clock)), pause_ms=pause_ms
        )
        winner, loser = self._winner(first, second)
        if winner is None:
            raise first.error or second.error or StorageError(f"both attempts of {name} are lost (simulated)", path="")
        attempts.end(loser)
        outcome: Outcome = winner.outcomes[0]
        return outcome

    def _winner(self, first: Attempt, second: Attempt) -> tuple[Attempt | None, Attempt]:
        pause = 0.005
        while True:
            for winner, loser in ((first, second), (second, first)):
                if winner.outcomes:
                    return winner, loser
            if first.is_over and second.is_over:
                return None, first
            self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_LOOK_SECONDS)
