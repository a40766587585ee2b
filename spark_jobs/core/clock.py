"""The only module that reads the clock, makes random ids, sleeps, or repeats something from time to time; everything
else is handed a :class:`Clock`.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID


class Repetition(Protocol):
    """Work that is done again and again beside what its caller does."""

    def start(self) -> None: ...

    def stop(self) -> None:
        """None begins any more, and one that was under way has ended. Also of one whose start was broken off."""
        ...


class Clock(Protocol):
    """What code that depends on time asks for."""

    def now(self) -> datetime:
        """The current moment, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for durations."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def new_uuid(self) -> str:
        """A random UUID, 36 characters."""
        ...

    def every(self, seconds: float, work: Callable[[], bool], name: str) -> Repetition:
        """Work that, once it is started, is done after each ``seconds`` until it returns False, or is stopped."""
        ...


class SystemClock:
    """The real clock; it pickles as nothing but its type."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def new_uuid(self) -> str:
        return str(uuid.uuid4())

    def every(self, seconds: float, work: Callable[[], bool], name: str) -> Repetition:
        return _RepeatedByThread(seconds, work, name)


class _RepeatedByThread:
    def __init__(self, seconds: float, work: Callable[[], bool], name: str) -> None:
        self._seconds = seconds
        self._work = work
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds) and self._work():
            pass


SYSTEM_CLOCK = SystemClock()


def drawn(clock: Clock, seconds: float) -> float:
    """A pause between half of that and all of it, so that many who met don't come again at once."""
    return seconds * (1 + UUID(clock.new_uuid()).int % 1000 / 1000) / 2
