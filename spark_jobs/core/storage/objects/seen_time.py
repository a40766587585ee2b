"""The clock of a store, which is seen by putting an object there: a process goes on from what it saw for a while."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

from spark_jobs.core.clock import Clock

_GOOD_SECONDS = 60
_ASLEEP_SECONDS = 1
"""By which a machine's two clocks go apart when it sleeps, or when one of them is set."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """``at_ms`` by the store's clock; ``now`` and ``monotonic`` are seconds by those of this machine."""

    at_ms: int
    now: float
    monotonic: float

    def later(self, clock: Clock) -> int | None:
        """What the store's clock says now; None where that is not known any more."""
        passed = clock.monotonic() - self.monotonic
        if passed > _GOOD_SECONDS or abs(clock.now().timestamp() - self.now - passed) > _ASLEEP_SECONDS:
            return None
        return self.at_ms + int(passed * 1000)


@dataclass(frozen=True, slots=True)
class SeenTimes:
    """By what is asked, as a folder of a store; times that can't be seen are not kept."""

    _seen: dict[Hashable, _Seen] = field(default_factory=dict)

    def of(self, key: Hashable, clock: Clock, look: Callable[[], int | None]) -> int | None:
        """Milliseconds since the epoch; None where ``look`` sees none."""
        known = self._seen.get(key)
        later = None if known is None else known.later(clock)
        if later is not None:
            return later
        found = look()
        if found is not None:  # seen in the end of the look: ages come out too small rather than too large
            self._seen[key] = _Seen(found, clock.now().timestamp(), clock.monotonic())
        return found

    def clear(self) -> None:
        self._seen.clear()


SEEN: Final = SeenTimes()
