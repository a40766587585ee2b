"""How much of a plan one run takes on: what fits is done, the rest stays planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one run, None where there is none: bytes of input, and seconds since ``begun`` (the clock's
    monotonic time).
    """

    max_bytes: int | None
    max_seconds: int | None
    begun: float
    clock: Clock

    @staticmethod
    def start(max_bytes: int | None, max_seconds: int | None, clock: Clock) -> Budget:
        """
        :raises ConfigError: a limit below 1.
        """
        for name, value in (("--max-bytes", max_bytes), ("--max-seconds", max_seconds)):
            if value is not None and value < 1:
                raise ConfigError(f"{name}={value} is not valid", todo="give a whole number of at least 1")
        return Budget(max_bytes=max_bytes, max_seconds=max_seconds, begun=clock.monotonic(), clock=clock)

    @property
    def spent(self) -> float:
        """Seconds since the run began."""
        return self.clock.monotonic() - self.begun

    def bytes_at(self, rate: float) -> int | None:
        """The bytes that fit at so many bytes a second; None for no limit."""
        limits = [] if self.max_bytes is None else [self.max_bytes]
        if self.max_seconds is not None:
            limits.append(int(max(self.max_seconds - self.spent, 0) * rate))
        return min(limits, default=None)

    def text(self) -> str:
        """The limits as they were given."""
        named = (("--max-bytes", self.max_bytes), ("--max-seconds", self.max_seconds))
        return " and ".join(f"{name} {value}" for name, value in named if value is not None)


def that_fit(sizes: Sequence[int], limit: int | None) -> list[int]:
    """Positions of the pieces that fit a limit of bytes together, in their order; one that does not is passed over."""
    chosen, left = [], limit
    for number, size in enumerate(sizes):
        if left is None or size <= left:
            chosen.append(number)
            left = None if left is None else left - size
    return chosen


def waves(sizes: Mapping[int, int], budget: Budget, slots: Callable[[], int]) -> Iterator[list[int]]:
    """Numbers of the pieces to begin together.

    Without a limit of seconds all that fit are one wave. With one a wave fills the engine, and one begins only if, at
    the pace so far, it would end in time; the first always does, or a plan would never get on.

    :param sizes: bytes by number, in the order in which they are done.
    :param slots: pieces that run at the same time; asked when there is something to do.
    """
    numbers = list(sizes)
    fitting = [numbers[at] for at in that_fit([sizes[one] for one in numbers], budget.max_bytes)]
    if budget.max_seconds is None:
        if fitting:
            yield fitting
        return
    width, done = (slots() if fitting else 1), 0
    began = budget.clock.monotonic()
    while fitting:
        wave, fitting = fitting[:width], fitting[width:]
        size = sum(sizes[one] for one in wave)
        pace = (budget.clock.monotonic() - began) / done if done else 0.0
        if done and budget.spent + pace * size > budget.max_seconds:
            return
        yield wave
        done += max(size, 1)
