"""Renewing a lease while its holder works."""

from __future__ import annotations

import threading
from collections.abc import Callable

from spark_jobs.core.errors import EtagMismatchError, LockNotAcquiredError, StorageError, WriteConflictError


class Renewal:
    """Calls ``renew`` from a thread again and again, until it is stopped or finds that the lock is lost (it returns
    False, or raises :class:`WriteConflictError`). A storage that fails once may serve the next time.
    """

    def __init__(self, renew: Callable[[], bool], interval_ms: float) -> None:
        self._renew = renew
        self._interval = interval_ms / 1000
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lock-renewal", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Also one whose start was broken off."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                if not self._renew():
                    return
            except WriteConflictError:
                return
            except (StorageError, LockNotAcquiredError, EtagMismatchError):
                continue
