"""A write that another one was faster than, done again in the same job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.core.errors import HudiError, WriteConflictError
from spark_jobs.core.table import HudiTable
from tests.faults import local_table as local
from tests.support.beside import before_it_publishes
from tests.support.folder import Folder
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit
RETRIES = {"hoodie_conf": {"hoodie.write.num.retries.on.conflict.failures": "2"}}
ASKED = {"conflict_retries": 2}
FIRST, MINE = local.batch(0, 4, "first", 1), local.batch(0, 2, "mine", 9)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def table(root: Folder, clock: HandClock) -> HudiTable:
    path = Folder(root.url, replace(root.lake, clock=clock)) / "t"
    table = local.create(path, "COPY_ON_WRITE")
    table.upsert(FIRST)
    return table.refreshed()


def beside(table: HudiTable, others: int, another: Callable[[HudiTable, int], object]) -> Any:
    """Another writer's work right before the first ``others`` publications of this one."""
    left = [*range(others)]

    def next_of_them() -> None:
        if left:
            another(table.refreshed(), left.pop(0))

    return before_it_publishes(next_of_them)


def update(table: HudiTable, number: int) -> object:
    return table.upsert(local.batch(0, 1, f"another {number}", 2 + number))


@pytest.mark.parametrize("asked", [RETRIES, ASKED])
def test_it_is_written_after_what_was_faster(table: HudiTable, clock: HandClock, asked: dict[str, Any]) -> None:
    before = clock.passed
    with beside(table, 2, update):
        result = table.upsert(MINE, idempotency_key="mine", **asked)
    assert result.extra["tries"] == 3
    assert local.rows_in(table.refreshed()) == local.expected_rows(FIRST, MINE)
    done = table.refreshed().timeline.completed_commits()
    assert done[-1].timestamp == result.instant
    assert len(done) == 4
    assert local.problems_of(Folder(table.url, table.lake)) == []
    assert 1.5 <= clock.passed - before <= 3


def test_who_asks_for_none_or_has_none_left_is_refused(table: HudiTable) -> None:
    for asked, others in (({}, 1), (ASKED, 3)):
        with (
            beside(table, others, update),
            pytest.raises(WriteConflictError, match=r"run it again") as caught,
        ):
            table.upsert(MINE, **asked)
        assert caught.value.exit_code == 3
        assert f"another {others - 1}" in local.rows_in(table.refreshed())[0]
        assert local.problems_of(Folder(table.url, table.lake)) == []


def test_a_key_that_another_inserted_meanwhile_is_updated_then(table: HudiTable) -> None:
    own = local.batch(7, 1, "mine", 3)
    with beside(table, 1, lambda now, number: now.upsert(local.batch(7, 1, "another", 2))):
        result = table.upsert(own, **ASKED)
    assert result.extra["tries"] == 2
    assert local.rows_in(table.refreshed()) == local.expected_rows(FIRST, own)


def test_what_is_no_conflict_is_not_tried_again(table: HudiTable) -> None:
    calls = []

    def fail(now: HudiTable, number: int) -> None:
        calls.append(number)
        raise HudiError("no conflict")

    with beside(table, 2, fail), pytest.raises(HudiError, match="no conflict"):
        table.upsert(MINE, **ASKED)
    assert calls == [0]


def test_a_stream_that_can_be_read_once_is_written_all_the_same(table: HudiTable) -> None:
    with beside(table, 1, update):
        table.upsert(MINE.to_reader(), **ASKED)
    assert local.rows_in(table.refreshed()) == local.expected_rows(FIRST, MINE)
