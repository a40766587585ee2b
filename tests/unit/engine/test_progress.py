"""Phases are timed whatever happens in them; nobody needs a terminal."""

import io
from datetime import UTC, datetime

import pytest

from spark_jobs.engine.progress import Progress

pytestmark = pytest.mark.unit


class SteppingClock:
    """Each look at it finds the second hand one further."""

    def __init__(self, step: float = 1.0) -> None:
        self.seconds = 0.0
        self.step = step

    def monotonic(self) -> float:
        self.seconds += self.step
        return self.seconds

    def now(self) -> datetime:
        return datetime(2024, 1, 1, tzinfo=UTC)

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def new_uuid(self) -> str:
        return "0" * 36


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_seconds_of_phases_of_one_name_add_up() -> None:
    progress = Progress("ingest", stream=io.StringIO(), clock=SteppingClock())
    for _ in range(2):
        with progress.phase("merge"):
            pass
    assert progress.seconds_by_phase == {"merge": 4.0}


def test_a_phase_that_fails_counts_too() -> None:
    stream = io.StringIO()
    progress = Progress("ingest", stream=stream, clock=SteppingClock())
    with pytest.raises(KeyError), progress.phase("merge"):
        raise KeyError
    assert progress.seconds_by_phase == {"merge": 2.0}
    assert stream.getvalue() == "ingest: merge ...\ningest: merge stopped in 2.0 s\n"


def test_plain_lines_come_at_most_every_ten_seconds() -> None:
    stream = io.StringIO()
    progress = Progress("ingest", stream=stream, clock=SteppingClock(3.0))
    with progress.phase("write", total=8) as phase:
        for _ in range(8):
            phase.advance()
    assert stream.getvalue().splitlines() == [
        "ingest: write (0 of 8) ...",
        "ingest: write 4 of 8",
        "ingest: write 8 of 8",
        "ingest: write done in 30.0 s",
    ]


def test_a_terminal_gets_a_bar_that_leaves_nothing_behind() -> None:
    stream = Terminal()
    progress = Progress("ingest", stream=stream, clock=SteppingClock())
    with progress.phase("write", total=2) as phase:
        phase.advance()
    shown = stream.getvalue()
    assert "[############------------] write 1 of 2" in shown
    assert shown.endswith("\ringest: write done in 3.0 s\n")


def test_a_reader_that_went_away_is_no_error() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    progress = Progress("ingest", stream=Closed(), clock=SteppingClock())
    with progress.phase("write"):
        progress.note("x")
    assert "write" in progress.seconds_by_phase
