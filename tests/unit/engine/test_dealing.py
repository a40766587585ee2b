"""Small pieces share tasks, large ones have their own, and all tasks have about as much to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.engine.dealing import TASK_BYTES, dealt, tasks_for

pytestmark = pytest.mark.unit

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("sizes", "slots", "tasks"),
    [
        ([], 2, 0),
        ([MB] * 5, 2, 5),
        ([MB] * 42, 2, 8),
        ([MB] * 42, 16, 42),
        ([120 * MB] * 42, 2, 42),
        ([TASK_BYTES // 4] * 400, 2, 100),
        ([0] * 100, 1, 4),
    ],
)
def test_how_many_tasks(sizes: list[int], slots: int, tasks: int) -> None:
    assert tasks_for(sizes, slots) == tasks
    assert len(dealt(sizes, tasks)) == tasks


def test_the_largest_are_dealt_first() -> None:
    assert dealt([1, 9, 2, 5, 4], 2) == [[1, 2], [3, 4, 0]]


@given(st.lists(st.integers(0, 1000)), st.integers(0, 20))
def test_each_piece_is_dealt_once_and_evenly(sizes: list[int], tasks: int) -> None:
    shares = dealt(sizes, tasks)
    assert sorted(number for share in shares for number in share) == list(range(len(sizes)))
    assert all(shares)
    loads = [sum(max(sizes[number], 1) for number in share) for share in shares]
    assert not loads or max(loads) - min(loads) <= max(*sizes, 1)
