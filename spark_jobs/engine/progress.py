"""How far a job is: phases with their seconds, a bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock

_BAR_WIDTH = 24
_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_BARS = 0.1


def say(stream: TextIO, text: str, end: str = "\n") -> None:
    """Write, and don't mind a reader that went away: a driver outlives the spark-submit that reads its output."""
    with suppress(BrokenPipeError):
        stream.write(text + end)
        stream.flush()


class Phase:
    """The part of a job between ``with progress.phase(...)`` and its end."""

    def __init__(self, progress: Progress, name: str, total: int | None) -> None:
        self.name = name
        self.total = total
        self.done = 0
        self._progress = progress

    def advance(self, steps: int = 1) -> None:
        """So many more of ``total`` are done."""
        self.done += steps
        self._progress._advanced(self)


class Progress:
    """Tells a person, on ``stream`` (stderr), and keeps the seconds of each phase for the result."""

    def __init__(self, job: str, *, stream: TextIO | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.seconds_by_phase: dict[str, float] = {}
        self._job = job
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._last_shown = clock.monotonic()
        self._bar_length = 0

    @classmethod
    def silent(cls, job: str, clock: Clock = SYSTEM_CLOCK) -> Progress:
        """One that tells nobody, for callers that want the seconds alone."""
        return cls(job, stream=io.StringIO(), clock=clock)

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Phase]:
        """Time what happens inside; phases of one name add up, and count also when they end by an error.

        :param total: how many steps :meth:`Phase.advance` will tell of; None where nobody knows.
        """
        phase = Phase(self, name, total)
        begin = self._clock.monotonic()
        self._show_start(phase)
        ended = "stopped"
        try:
            yield phase
            ended = "done"
        finally:
            seconds = self._clock.monotonic() - begin
            self.seconds_by_phase[name] = round(self.seconds_by_phase.get(name, 0.0) + seconds, 3)
            self.note(f"{name} {ended} in {seconds:.1f} s")

    def note(self, text: str) -> None:
        """One line for the reader of the log."""
        self._clear_bar()
        say(self._stream, f"{self._job}: {text}")

    def _show_start(self, phase: Phase) -> None:
        self._last_shown = self._clock.monotonic()
        if self._terminal:
            self._draw(phase)
        else:
            self.note(f"{phase.name} ..." if phase.total is None else f"{phase.name} (0 of {phase.total}) ...")

    def _advanced(self, phase: Phase) -> None:
        now = self._clock.monotonic()
        if now - self._last_shown < (_SECONDS_BETWEEN_BARS if self._terminal else _SECONDS_BETWEEN_LINES):
            return
        self._last_shown = now
        if self._terminal:
            self._draw(phase)
        else:
            self.note(f"{phase.name} {_how_far(phase)}")

    def _draw(self, phase: Phase) -> None:
        filled = min(_BAR_WIDTH, phase.done * _BAR_WIDTH // phase.total) if phase.total else 0
        text = f"{self._job}: [{'#' * filled}{'-' * (_BAR_WIDTH - filled)}] {phase.name} {_how_far(phase)}"
        self._clear_bar()
        say(self._stream, text, end="")
        self._bar_length = len(text)

    def _clear_bar(self) -> None:
        if self._bar_length:
            say(self._stream, "\r" + " " * self._bar_length + "\r", end="")
            self._bar_length = 0


def _how_far(phase: Phase) -> str:
    return f"{phase.done} of {phase.total}" if phase.total else f"{phase.done}" if phase.done else "..."
