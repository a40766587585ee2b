"""The engine of one process."""

import os
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from spark_jobs.core.handles.context import TaskScope
from spark_jobs.engine import local
from spark_jobs.engine.local import LocalEngine
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


def rows(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"v": list(values)})


@pytest.mark.parametrize("slots", [1, 2])
def test_rows_reach_their_task_in_the_order_of_items(slots: int) -> None:
    def split(item: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        yield item % 2, rows(item)
        yield 1, rows(item * 10, item * 100)

    def work(blocks: list[pa.RecordBatch], scope: TaskScope) -> tuple[int, list[list[int]]]:
        return scope.task, [block.column("v").to_pylist() for block in blocks]

    found = dict(LocalEngine(HandClock(), slots).exchange([1, 2, 3], split, 4, work))
    assert found == {0: [[2]], 1: [[1], [10, 100], [20, 200], [3], [30, 300]]}


def test_an_exchange_keeps_no_file_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_HELD_BYTES", 1)
    targets = 50
    most = len(os.listdir("/proc/self/fd")) + 10

    def split(item: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        for target in range(targets):
            yield target, pa.RecordBatch.from_pydict({"v": [item, target]})
            assert len(os.listdir("/proc/self/fd")) < most

    def work(blocks: list[pa.RecordBatch], scope: TaskScope) -> tuple[int, list[list[int]]]:
        return scope.task, [block.column("v").to_pylist() for block in blocks]

    found = dict(LocalEngine(HandClock()).exchange([7, 8], split, targets, work))
    assert found == {target: [[7, target], [8, target]] for target in range(targets)}


@pytest.mark.parametrize("slots", [1, 3])
def test_after_a_failure_no_piece_begins_and_none_runs_on(slots: int) -> None:
    running: list[int] = []
    ended: list[int] = []

    def work(item: int, scope: TaskScope) -> int:
        running.append(item)
        if item == 1:
            raise ValueError("one")
        ended.append(item)
        return item

    with pytest.raises(ValueError, match="one"):
        LocalEngine(HandClock(), slots).run_each(range(100), work)
    assert sorted(running) == sorted([*ended, 1])
    if slots == 1:
        assert running == [0, 1]


def test_pieces_run_beside_each_other() -> None:
    both = threading.Barrier(2, timeout=30)
    found = LocalEngine(HandClock(), 2).run_each([1, 2], lambda item, scope: both.wait() >= 0 and item)
    assert found == [1, 2]


def test_tasks_without_rows_do_not_run() -> None:
    assert LocalEngine(HandClock()).exchange([1], lambda item: iter(()), 3, lambda blocks, scope: 1) == []


def test_outcomes_come_in_the_order_of_the_items_each_by_a_token_of_its_own() -> None:
    told: list[int] = []
    found = LocalEngine(HandClock()).run_each([5, 6], lambda item, scope: (item, scope.write_token), told.append)
    assert [item for item, _ in found] == [5, 6]
    assert len({token for _, token in found}) == 2
    assert told == [1, 1]
