"""Budgets: what fits is done, and nothing begins that would take longer."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.frame.budget import Budget, that_fit, waves
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("limit", "expected"), [(None, [0, 1, 2, 3]), (60, [0, 1, 2, 3]), (50, [0, 1, 2]), (35, [0, 2]), (10, [2]), (4, [])]
)
def test_pieces_that_fit(limit: int | None, expected: list[int]) -> None:
    assert that_fit([20, 20, 10, 10], limit) == expected


def test_without_seconds_there_is_one_wave() -> None:
    clock = HandClock()
    assert list(waves({0: 5, 2: 7}, Budget.start(None, None, clock), lambda: 1)) == [[0, 2]]
    assert list(waves({0: 5, 2: 7}, Budget.start(6, None, clock), lambda: 1)) == [[0]]
    assert list(waves({}, Budget.start(None, 1, clock), lambda: 1)) == []


def test_waves_end_in_time_by_the_pace_so_far() -> None:
    clock = HandClock()
    budget = Budget.start(None, 10, clock)
    clock.sleep(1)
    begun = []
    for wave in waves({0: 10, 1: 10, 2: 20, 3: 10}, budget, lambda: 2):
        begun.append(wave)
        clock.sleep(4)
    assert begun == [[0, 1]]  # five seconds are gone, and 30 bytes would take six
    budget = Budget.start(None, 10, clock)
    assert [wave for wave in waves({0: 10, 1: 10, 2: 10}, budget, lambda: 1) if clock.sleep(4) is None] == [[0], [1]]


def test_the_first_wave_begins_whatever_it_takes() -> None:
    clock = HandClock()
    budget = Budget.start(None, 1, clock)
    clock.sleep(5)
    assert next(waves({0: 10, 1: 10}, budget, lambda: 1)) == [0]


def test_limits_as_bytes() -> None:
    clock = HandClock()
    assert Budget.start(None, None, clock).bytes_at(5.0) is None
    assert Budget.start(100, None, clock).bytes_at(5.0) == 100
    assert Budget.start(100, 10, clock).bytes_at(5.0) == 50
    assert Budget.start(100, 10, clock).text() == "--max-bytes 100 and --max-seconds 10"
    with pytest.raises(ConfigError, match="--max-seconds=0 is not valid"):
        Budget.start(None, 0, clock)
