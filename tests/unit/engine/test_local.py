"""The engine of one process."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from spark_jobs.core.handles.context import TaskScope
from spark_jobs.engine.local import LocalEngine
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


def rows(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"v": list(values)})


def test_rows_reach_their_task_in_the_order_of_items() -> None:
    def split(item: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        yield item % 2, rows(item)
        yield 1, rows(item * 10, item * 100)

    def work(blocks: list[pa.RecordBatch], scope: TaskScope) -> tuple[int, list[list[int]]]:
        return scope.task, [block.column("v").to_pylist() for block in blocks]

    found = dict(LocalEngine(HandClock()).exchange([1, 2, 3], split, 4, work))
    assert found == {0: [[2]], 1: [[1], [10, 100], [20, 200], [3], [30, 300]]}


def test_tasks_without_rows_do_not_run() -> None:
    assert LocalEngine(HandClock()).exchange([1], lambda item: iter(()), 3, lambda blocks, scope: 1) == []


def test_outcomes_come_in_the_order_of_the_items_each_by_a_token_of_its_own() -> None:
    told: list[int] = []
    found = LocalEngine(HandClock()).run_each([5, 6], lambda item, scope: (item, scope.write_token), told.append)
    assert [item for item, _ in found] == [5, 6]
    assert len({token for _, token in found}) == 2
    assert told == [1, 1]
