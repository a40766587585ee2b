"""Phases are timed whatever happens in them; nobody needs a terminal."""

import io
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from spark_jobs.engine import progress as module
from spark_jobs.engine.progress import Progress

pytestmark = pytest.mark.unit


class HandClock:
    """Its second hand is turned by the test."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
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

    def screen(self) -> list[str]:
        """Its lines as a reader sees them: what a carriage return overwrote is gone."""
        lines = []
        for line in self.getvalue().split("\n"):
            shown = ""
            for part in line.split("\r"):
                shown = part + shown[len(part) :]
            lines.append(shown.rstrip())
        return lines


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_seconds_of_phases_of_one_name_add_up(clock: HandClock) -> None:
    progress = Progress.silent("ingest", clock)
    for _ in range(2):
        with progress.phase("merge"):
            clock.sleep(2)
    assert progress.seconds_by_phase == {"merge": 4.0}


def test_a_phase_that_fails_counts_too(clock: HandClock) -> None:
    stream = io.StringIO()
    progress = Progress("ingest", stream=stream, clock=clock)

    def fail() -> None:
        with progress.phase("merge"):
            clock.sleep(2)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert progress.seconds_by_phase == {"merge": 2.0}
    assert stream.getvalue() == "ingest: merge ...\ningest: merge stopped in 2.0 s\n"


def test_plain_lines_come_at_most_every_ten_seconds(clock: HandClock) -> None:
    stream = io.StringIO()
    progress = Progress("ingest", stream=stream, clock=clock)
    with progress.phase("write", total=8) as phase:
        for _ in range(8):
            clock.sleep(3)
            phase.advance()
    assert stream.getvalue().splitlines() == [
        "ingest: write (0 of 8) ...",
        "ingest: write 4 of 8, 12 s, 12 s left",
        "ingest: write 8 of 8, 24 s",
        "ingest: write done in 24.0 s (8 of 8)",
    ]


def test_lines_have_no_control_characters(clock: HandClock) -> None:
    stream = io.StringIO()
    progress = Progress("ingest", stream=stream, clock=clock)
    with progress.phase("outer"), progress.phase("write", total=3) as phase:
        for _ in range(3):
            clock.sleep(20)
            phase.advance()
        progress.note("a word")
    assert all(character.isprintable() or character == "\n" for character in stream.getvalue())


def test_steps_without_a_total_are_counted(clock: HandClock) -> None:
    stream = io.StringIO()
    with Progress("hive_sync", stream=stream, clock=clock).phase("sync") as phase:
        clock.sleep(11)
        phase.advance(5)
    assert stream.getvalue().splitlines() == [
        "hive_sync: sync ...",
        "hive_sync: sync 5, 11 s",
        "hive_sync: sync done in 11.0 s (5)",
    ]


@pytest.mark.usefixtures("columns")
def test_a_terminal_gets_a_bar_that_leaves_nothing_behind(clock: HandClock) -> None:
    stream = Terminal()
    with Progress("ingest", stream=stream, clock=clock).phase("write", total=2) as phase:
        clock.sleep(6)
        phase.advance()
        assert stream.screen() == ["ingest: [############------------] write 1 of 2, 6 s, 6 s left"]
    assert stream.screen() == ["ingest: write done in 6.0 s (1 of 2)", ""]
    assert "\x1b" not in stream.getvalue()


@pytest.mark.usefixtures("columns")
def test_a_bar_comes_again_below_a_note_and_after_a_phase_inside(clock: HandClock) -> None:
    stream = Terminal()
    progress = Progress("clean", stream=stream, clock=clock)
    with progress.phase("all", total=4) as phase:
        clock.sleep(1)
        phase.advance(2)
        progress.note("a word")
        assert stream.screen() == ["clean: a word", "clean: [############------------] all 2 of 4, 1 s"]
        with progress.phase("inner"):
            assert stream.screen()[-1] == "clean: inner ... 0 s"
        assert stream.screen()[-1] == "clean: [############------------] all 2 of 4, 1 s"


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (45, "ingest: [########--------] write 5 of 9, 1 s"),
        (36, "ingest: [###----] write 5 of 9, 1 s"),
        (30, "ingest: write 5 of 9, 1 s"),
        (12, "ingest: wri"),
    ],
)
def test_a_narrow_terminal_gets_one_line(
    clock: HandClock, monkeypatch: pytest.MonkeyPatch, columns: int, shown: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    with Progress("ingest", stream=stream, clock=clock).phase("write", total=9) as phase:
        clock.sleep(1)
        phase.advance(5)
        assert stream.screen() == [shown]


def test_threads_may_advance_a_phase() -> None:
    progress = Progress.silent("clean")
    with progress.phase("delete", 4000) as phase, ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda number: phase.advance(), range(4000)):
            pass
    assert phase.done == 4000


def test_a_long_silence_is_broken(clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SECONDS_OF_SILENCE", 0.01)
    told = threading.Event()

    class Watched(io.StringIO):
        def write(self, text: str) -> int:
            if "write ... 7 s" in text:
                told.set()
            return super().write(text)

    with Progress("ingest", stream=Watched(), clock=clock).phase("write"):
        clock.sleep(7)
        assert told.wait(20)


def test_nothing_runs_on_after_the_last_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SECONDS_OF_SILENCE", 0.01)
    with Progress.silent("clean").phase("delete"):
        (ticker,) = [one for one in threading.enumerate() if one.name == "progress"]
    ticker.join(20)
    assert not ticker.is_alive()


def test_a_reader_that_went_away_is_no_error() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    progress = Progress("ingest", stream=Closed())
    with progress.phase("write"):
        progress.note("x")
    assert "write" in progress.seconds_by_phase


def test_a_real_terminal_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pseudo terminal gets: the bar, without an escape."""
    monkeypatch.setenv("COLUMNS", "60")
    reader, writer = os.openpty()
    with os.fdopen(writer, "w") as stream, Progress("clean", stream=stream).phase("delete", 1) as phase:
        phase.advance()
    seen = b""
    with suppress(OSError):  # which tells its end
        while part := os.read(reader, 4096):  # the kernel hands it over in parts
            seen += part
    os.close(reader)
    assert b"\rclean: [" in seen
    assert b"delete done in" in seen
    assert b"\x1b" not in seen
