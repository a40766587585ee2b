"""The pauses of those who wait for a lock: none is passed over for long, and nobody waits longer than allowed."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from spark_jobs.core.clock import drawn
from spark_jobs.core.errors import LockNotAcquiredError
from spark_jobs.core.locks.waiting import Patience, wait_for_lock
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


@dataclass
class Time(HandClock):
    """Pauses are drawn by its ids."""

    drawing: random.Random = field(default_factory=lambda: random.Random(1))

    def new_uuid(self) -> str:
        return str(UUID(int=self.drawing.getrandbits(128)))


@pytest.mark.parametrize("wait_ms", [0, 1, 50, 1000, 60_000])
def test_the_last_try_is_at_the_end_of_the_wait(wait_ms: int) -> None:
    clock, tries = Time(), []

    def tried(is_last: bool) -> str:
        tries.append((clock.passed, is_last))
        return "another"

    with pytest.raises(LockNotAcquiredError):
        wait_for_lock(clock, wait_ms, tried, lambda: LockNotAcquiredError("held"))
    assert tries[-1] == (pytest.approx(wait_ms / 1000), True)
    assert [is_last for _, is_last in tries[:-1]] == [False] * (len(tries) - 1)
    assert len(tries) <= 10 + wait_ms / 1000 / 0.5


@pytest.mark.parametrize(("writers", "held", "most"), [(4, 1.2, 4), (8, 0.3, 6), (8, 1.2, 4), (8, 0.035, 12)])
def test_nobody_is_passed_over(writers: int, held: float, most: int) -> None:
    """Of many writers who each hold the lock for so many seconds and stay away for twice that: the longest of their
    waits in a quarter of an hour, as a multiple of what all others would take in turn.
    """
    waits = waits_of(writers, held)
    assert max(waits) < most * (writers - 1) * held


def waits_of(writers: int, held: float) -> list[float]:
    """Seconds of each wait, in the order of their ends."""
    clock, waits, free_at = Time(), [], 0.0
    came = {writer: held * writer for writer in range(writers)}
    patience = {writer: Patience() for writer in came}
    tries = [(at, writer) for writer, at in came.items()]
    while tries[0][0] < 900:
        now, writer = heapq.heappop(tries)
        if now < free_at:
            pause = drawn(clock, patience[writer].longest_pause(f"holder {len(waits)}"))
            heapq.heappush(tries, (now + pause, writer))
            continue
        waits.append(now - came[writer])
        free_at = now + held
        came[writer], patience[writer] = free_at + drawn(clock, 3 * held), Patience()
        heapq.heappush(tries, (came[writer], writer))
    return waits
