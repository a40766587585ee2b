"""Waiting for a lock that another holds. Its file has no order of those who wait, and real Hudi would not keep one:
whom others overtook asks more often, and who waits for one holder all the time asks less and less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spark_jobs.core.clock import Clock, drawn
from spark_jobs.core.errors import LockNotAcquiredError

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
_SHORTEST_PAUSE: Final = 0.02
_GROWTH: Final = 1.6
"""Seconds between two tries, and how much longer one is than the last."""

UNKNOWN: Final = ""
"""A holder that a try does not see."""


@dataclass(slots=True)
class Patience:
    """What one who waits has seen."""

    holder: str = UNKNOWN
    tries: int = 0
    overtaken: int = 0

    def longest_pause(self, holder: str) -> float:
        """In seconds, before the next try.

        :param holder: who has the lock now: a text that is another one when it went from one to another.
        """
        if holder != self.holder:
            self.overtaken += self.holder != UNKNOWN
            self.holder, self.tries = holder, 0
        pause = min(_FIRST_PAUSE * _GROWTH**self.tries, _LONGEST_PAUSE)
        self.tries = min(self.tries + 1, 10)
        return max(pause / (1 + self.overtaken), _SHORTEST_PAUSE)


def wait_for_lock(
    clock: Clock, wait_ms: int, tried: Callable[[bool], str | None], refusal: Callable[[], LockNotAcquiredError]
) -> None:
    """Try until the lock is there.

    :param tried: makes a try, told whether it is the last one; None where it took the lock, else its holder as for
        :meth:`Patience.longest_pause`.
    :raises LockNotAcquiredError: the refusal, after the whole wait.
    """
    begun, wait, patience = clock.monotonic(), wait_ms / 1000, Patience()
    while (holder := tried(is_last := (waited := clock.monotonic() - begun) >= wait)) is not None:
        if is_last:
            raise refusal()
        clock.sleep(min(drawn(clock, patience.longest_pause(holder)), wait - waited))
