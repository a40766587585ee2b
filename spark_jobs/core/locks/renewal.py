"""Renewing a lease while its holder works."""

from __future__ import annotations

from collections.abc import Callable

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import EtagMismatchError, LockNotAcquiredError, StorageError, WriteConflictError


class Renewal:
    """Calls ``renew`` again and again, until it is stopped or finds that the lock is lost (it returns False, or raises
    :class:`WriteConflictError`). A storage that fails once may serve the next time.
    """

    def __init__(self, clock: Clock, renew: Callable[[], bool], interval_ms: float) -> None:
        self._renew = renew
        self._repetition = clock.every(interval_ms / 1000, self._renewed, "lock-renewal")

    def start(self) -> None:
        self._repetition.start()

    def stop(self) -> None:
        """Also one whose start was broken off."""
        self._repetition.stop()

    def _renewed(self) -> bool:
        """Whether the next time is to come."""
        try:
            return self._renew()
        except WriteConflictError:
            return False
        except (StorageError, LockNotAcquiredError, EtagMismatchError):
            return True
