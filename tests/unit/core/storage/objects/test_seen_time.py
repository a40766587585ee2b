"""The clock of a store between two looks at it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from spark_jobs.core.storage.objects.seen_time import SeenTimes
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


def test_a_process_goes_on_from_what_it_saw_for_a_minute() -> None:
    times, clock, looks = SeenTimes(), HandClock(), []

    def look() -> int:
        looks.append(clock.monotonic())
        return 1_000_000

    assert times.of("a", clock, look) == 1_000_000
    clock.sleep(59)
    assert times.of("a", clock, look) == 1_059_000
    assert times.of("b", clock, look) == 1_000_000
    clock.sleep(2)
    assert times.of("a", clock, look) == 1_000_000
    assert len(looks) == 3


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_was_set_is_not_followed(hours: int) -> None:
    times, clock = SeenTimes(), HandClock()
    times.of("a", clock, lambda: 1_000_000)
    clock.moment += timedelta(hours=hours)
    assert times.of("a", clock, lambda: 7) == 7


def test_a_look_that_takes_long_makes_nothing_older() -> None:
    """The store dates an object when it has all of it."""
    times, clock = SeenTimes(), HandClock()

    def look() -> int:
        clock.sleep(45)
        return 1_045_000

    times.of("a", clock, look)
    clock.sleep(1)
    assert times.of("a", clock, look) == 1_046_000


def test_a_time_that_is_not_seen_is_looked_for_again() -> None:
    times, clock = SeenTimes(), HandClock()
    assert times.of("a", clock, lambda: None) is None
    assert times.of("a", clock, lambda: 7) == 7
