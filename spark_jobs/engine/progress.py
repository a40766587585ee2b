"""How far a job is: phases with their seconds, a bar on a terminal, plain lines anywhere else.

Of its own rather than by tqdm or rich: jobs run on drivers that have neither, a log must get lines and no control
characters, and the seconds by phase belong to a job's result.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.options.secrets import Hiding

_BAR_WIDTH, _LEAST_BAR_WIDTH = 24, 6
_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_BARS = 0.1
_SECONDS_OF_SILENCE = 60.0
"""After which a line tells that a phase still runs, where nothing else did."""
_SECONDS_UNTIL_ESTIMATE = 5.0
_USUAL_COLUMNS = 80


class _Hidden:
    """What this process never shows; a job sets it when it knows its options."""

    now = Hiding()


def hide(values: Iterable[str]) -> Hiding:
    """From now on, :func:`say` shows none of these values."""
    _Hidden.now = Hiding(values)
    return _Hidden.now


def say(stream: TextIO, text: str, end: str = "\n", *, as_is: bool = False) -> None:
    """Write without the secrets of the job, and don't mind a reader that went away: a driver outlives the spark-submit
    that reads its output.
    """
    with suppress(BrokenPipeError):
        stream.write((text if as_is else _Hidden.now.text(text)) + end)
        stream.flush()


def columns_of(stream: TextIO) -> int:
    """How wide the terminal behind a stream is (``COLUMNS`` wins); 80 where neither says so."""
    with suppress(ValueError):
        return max(1, int(os.environ.get("COLUMNS", "")))
    with suppress(OSError, ValueError):  # no terminal, or a stream without a file
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    return _USUAL_COLUMNS


class Phase:
    """The part of a job between ``with progress.phase(...)`` and its end. Several threads may advance it."""

    def __init__(self, progress: Progress, name: str, total: int | None, began: float) -> None:
        self.name = name
        self.total = total
        self.done = 0
        self.began = began
        self._progress = progress

    def advance(self, steps: int = 1) -> None:
        """So many more of ``total`` are done."""
        self._progress._advanced(self, steps)


class Progress:
    """Tells a person, on ``stream`` (stderr), and keeps the seconds of each phase for the result.

    On a terminal the innermost phase has a bar with its count, its seconds and, once that can be estimated, what is
    left; it is cleared by blanks, without control characters but the carriage return. Anywhere else there are lines:
    where a phase begins and ends, every ten seconds of progress, and every minute without.
    """

    def __init__(self, job: str, *, stream: TextIO | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.seconds_by_phase: dict[str, float] = {}
        self._job = job
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._last_shown = clock.monotonic()
        self._bar_length = 0
        self._phases: list[Phase] = []
        self._lock = threading.RLock()
        self._over = threading.Event()

    @classmethod
    def silent(cls, job: str, clock: Clock = SYSTEM_CLOCK) -> Progress:
        """One that shows nothing, for callers that want the seconds alone."""
        return cls(job, stream=io.StringIO(), clock=clock)

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Phase]:
        """Time what happens inside; phases of one name add up, and count also when they end by an error.

        :param total: how many steps :meth:`Phase.advance` will count; None where it is not known.
        """
        phase = self._begin(name, total)
        ended = "stopped"
        try:
            yield phase
            ended = "done"
        finally:
            self._end(phase, ended)

    def note(self, text: str) -> None:
        """One line for the reader of the log; a bar comes again below it."""
        with self._lock:
            self._clear_bar()
            say(self._stream, f"{self._job}: {text}")
            if self._terminal and self._phases:
                self._draw(self._phases[-1])

    def warn(self, *texts: str) -> None:
        """Notes of what the user may not have meant, or did not get."""
        for text in texts:
            self.note(f"warning: {text}")

    def _begin(self, name: str, total: int | None) -> Phase:
        with self._lock:
            phase = Phase(self, name, total, self._clock.monotonic())
            self._phases.append(phase)
            self._last_shown = phase.began
            if self._terminal:
                self._draw(phase)
            else:
                self.note(f"{name} ..." if total is None else f"{name} (0 of {total}) ...")
            if len(self._phases) == 1:
                self._over = threading.Event()
                threading.Thread(target=self._tick, args=(self._over,), name="progress", daemon=True).start()
            return phase

    def _end(self, phase: Phase, ended: str) -> None:
        with self._lock:
            seconds = self._clock.monotonic() - phase.began
            self.seconds_by_phase[phase.name] = round(self.seconds_by_phase.get(phase.name, 0.0) + seconds, 3)
            self._phases.remove(phase)
            if not self._phases:
                self._over.set()
            counted = f" ({phase.done} of {phase.total})" if phase.total else f" ({phase.done})" if phase.done else ""
            self.note(f"{phase.name} {ended} in {seconds:.1f} s{counted}")

    def _tick(self, over: threading.Event) -> None:
        """Show that time passes, also where nothing advances."""
        while not over.wait(1.0 if self._terminal else _SECONDS_OF_SILENCE):
            with self._lock:
                if not self._phases or over.is_set():
                    continue
                phase = self._phases[-1]
                if self._terminal:
                    self._draw(phase)
                elif self._clock.monotonic() - self._last_shown >= _SECONDS_OF_SILENCE:
                    self._last_shown = self._clock.monotonic()
                    self.note(f"{phase.name} {self._how_far(phase)}")

    def _advanced(self, phase: Phase, steps: int) -> None:
        with self._lock:
            phase.done += steps
            now = self._clock.monotonic()
            if now - self._last_shown < (_SECONDS_BETWEEN_BARS if self._terminal else _SECONDS_BETWEEN_LINES):
                return
            self._last_shown = now
            if self._terminal:
                self._draw(phase)
            else:
                self.note(f"{phase.name} {self._how_far(phase)}")

    def _draw(self, phase: Phase) -> None:
        """The bar on one line: a narrow terminal gets a short one, or words alone."""
        room = columns_of(self._stream) - 1
        text = f"{phase.name} {self._how_far(phase)}"
        width = min(_BAR_WIDTH, room - len(self._job) - len(text) - len(": [] "))
        if phase.total and width >= _LEAST_BAR_WIDTH:
            filled = min(width, phase.done * width // phase.total)
            text = f"[{'#' * filled}{'-' * (width - filled)}] {text}"
        line = f"{self._job}: {text}"[: max(room, 0)]
        padding = " " * max(0, self._bar_length - len(line))
        say(self._stream, f"\r{line}{padding}", end="")
        self._bar_length = len(line) + len(padding)

    def _clear_bar(self) -> None:
        if self._bar_length:
            say(self._stream, "\r" + " " * self._bar_length + "\r", end="")
            self._bar_length = 0

    def _how_far(self, phase: Phase) -> str:
        """``12 of 40, 3 s, 7 s left``."""
        seconds = self._clock.monotonic() - phase.began
        if not phase.total:
            return f"{phase.done}, {seconds:.0f} s" if phase.done else f"... {seconds:.0f} s"
        text = f"{phase.done} of {phase.total}, {seconds:.0f} s"
        if 0 < phase.done < phase.total and seconds >= _SECONDS_UNTIL_ESTIMATE:
            text += f", {seconds * (phase.total - phase.done) / phase.done:.0f} s left"
        return text
