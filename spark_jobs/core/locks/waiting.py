"""Waiting for a lock that another holds. Its file has no order of those who wait, and real Hudi would not keep one: who
waits for longer asks more often, so that a newcomer seldom overtakes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from spark_jobs.core.clock import Clock, drawn
from spark_jobs.core.errors import LockNotAcquiredError

_FIRST_PAUSE: Final = 0.2
_SHORTEST_PAUSE: Final = 0.02
_HALVED_AFTER: Final = 3.0
"""Seconds: a pause at most, at least, and after how much waiting it is half as long (a fifth after twice that)."""


def longest_pause(waited: float) -> float:
    """Before the next try of who waited so many seconds."""
    return max(_SHORTEST_PAUSE, _FIRST_PAUSE / (1 + (waited / _HALVED_AFTER) ** 2))


def wait_for_lock(
    clock: Clock, wait_ms: int, tried: Callable[[bool], bool], refusal: Callable[[], LockNotAcquiredError]
) -> None:
    """Try until the lock is there.

    :param tried: whether a try took it; told whether it is the last one.
    :raises LockNotAcquiredError: the refusal, after the whole wait.
    """
    begun, wait = clock.monotonic(), wait_ms / 1000
    while not tried(is_last := (waited := clock.monotonic() - begun) >= wait):
        if is_last:
            raise refusal()
        clock.sleep(min(drawn(clock, longest_pause(waited)), wait - waited))
