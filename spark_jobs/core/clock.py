"""The only module that reads the clock, makes random ids, or sleeps; everything else is handed a :class:`Clock`."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime
from typing import Protocol


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


SYSTEM_CLOCK = SystemClock()
