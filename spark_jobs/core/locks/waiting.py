"""Waiting for a lock that another holds."""

from __future__ import annotations

from collections.abc import Callable

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import LockNotAcquiredError

_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.02, 1.0, 1.6
"""Seconds between two tries."""


def wait_for_lock(
    clock: Clock, wait_ms: int, tried: Callable[[bool], bool], refusal: Callable[[], LockNotAcquiredError]
) -> None:
    """Try until the lock is there.

    :param tried: whether a try took it; told whether it is the last one.
    :raises LockNotAcquiredError: the refusal, after the whole wait.
    """
    deadline, pause = clock.monotonic() + wait_ms / 1000, _FIRST_PAUSE
    while not tried(is_last := clock.monotonic() >= deadline):
        if is_last:
            raise refusal()
        clock.sleep(pause)
        pause = min(pause * _GROWTH, _LONGEST_PAUSE)
