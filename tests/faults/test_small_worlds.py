"""Two processes at one table, in orders of their calls that are counted out. ``make small-worlds`` has many more."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from spark_jobs.core.handles.context import WriteContext
from tests.simulation.picture import picture
from tests.simulation.small.explore import Explorer
from tests.simulation.small.schedule import How, Preemption
from tests.simulation.small.worlds import DISK, TABLES, SmallWorld, live, pairs

pytestmark = pytest.mark.faults
UPSERT_AND_CLEAN = SmallWorld(DISK, ("upsert", "clean"))


@pytest.mark.parametrize("table", TABLES)
def test_one_after_the_other(table: str) -> None:
    for small in pairs(table):
        for roles in (small.roles, small.roles[::-1]):
            lived = live(small, roles, ())
            assert not lived.wrong, "\n".join(picture(lived.steps))


@pytest.mark.parametrize(
    "small",
    [SmallWorld(DISK, ("clean", "maintain")), SmallWorld(TABLES["store"], ("archive", "roll back"), True)],
    ids=lambda small: " and ".join(small.does),
)
def test_with_one_preemption(small: SmallWorld) -> None:
    found = Explorer(small, bound=1, most=1000).explore()
    assert found.is_whole
    assert 20 < found.lived < found.all
    assert not [(lived.schedule, lived.wrong) for _, lived in found.failed]


def test_no_more_schedules_than_were_asked_for() -> None:
    found = Explorer(UPSERT_AND_CLEAN, bound=2, most=5).explore()
    assert (found.lived, found.is_whole) == (5, False)


def asleep_over_a_log() -> tuple[Preemption, ...]:
    """Its writer, between the file and the look at its marker."""
    calls = live(UPSERT_AND_CLEAN, UPSERT_AND_CLEAN.roles, ()).calls
    at = next(at for at, call in enumerate(calls) if call.name == "stat" and call.path.endswith(".marker.APPEND"))
    return (Preemption(at, How.LAPSE, UPSERT_AND_CLEAN.roles[1]),)


def test_a_schedule_is_followed_to_the_call() -> None:
    schedule = asleep_over_a_log()
    once, again = (live(UPSERT_AND_CLEAN, UPSERT_AND_CLEAN.roles, schedule) for _ in range(2))
    assert once == again
    assert any("is suspended before stat" in line for line in picture(once.steps))


def test_a_log_whose_blocks_were_taken_back_while_its_task_slept() -> None:
    """And the world in which the task deletes it, as it did once."""
    schedule = asleep_over_a_log()
    assert not live(UPSERT_AND_CLEAN, UPSERT_AND_CLEAN.roles, schedule).wrong

    def delete(self: WriteContext, partition: str, file_name: str) -> None:
        self.storage.delete(self.path(partition, file_name))

    with patch.object(WriteContext, "give_up_log", delete):
        wrong = live(UPSERT_AND_CLEAN, UPSERT_AND_CLEAN.roles, schedule).wrong
    assert any("can't be read" in one for one in wrong)
