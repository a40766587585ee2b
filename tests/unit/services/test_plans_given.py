"""Plans that are meant by a hash or an instant: what stands there is what is done, or nothing is."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.result import JobState
from tests.support.folder import Folder
from tests.unit.services.by_hand import compact
from tests.unit.services.planned import RUNS, Run, actions, three_groups, update

pytestmark = pytest.mark.unit


@pytest.fixture
def table(root: Folder) -> HudiTable:
    return three_groups(root / "t")


@RUNS
@pytest.mark.parametrize("asked", ["", " ", "None", "0" * 24 + "-1-1-\N{SUPERSCRIPT TWO}", "x" * 24 + "-1-1-1"])
def test_what_is_no_hash_does_nothing(table: HudiTable, run: Run, asked: str) -> None:
    """As of a template that found no value."""
    for mode in ("schedule", "execute", "scheduleAndExecute"):
        with pytest.raises((ConfigError, OptionsError), match=r"is no hash of a plan|--plan-hash came to nothing"):
            run(table, mode=mode, plan_hash=asked)
    assert actions(table) == []


@RUNS
def test_an_empty_instant_is_none(table: HudiTable, run: Run) -> None:
    run(table, mode="schedule")
    with pytest.raises(ConfigError, match="--instant-time is empty"):
        run(table, mode="execute", instant_time="")
    assert [state for _, state in actions(table)] == [State.REQUESTED]


@RUNS
def test_a_retry_finds_the_plan_done_that_was_scheduled_without_a_hash(table: HudiTable, run: Run) -> None:
    """As two tasks do it, of which the second is given what the first said."""
    asked = run(table, mode="schedule").extra["plan_hash"]
    done = run(table, mode="execute", plan_hash=asked)
    assert done.state is JobState.COMPLETED
    again = run(table, mode="execute", plan_hash=asked)
    assert (again.state, again.instant) == (JobState.COMPLETED, done.instant)
    assert "carried out this plan before" in str(again.reason)
    assert len(actions(table)) == 1


@RUNS
@pytest.mark.parametrize("mode", ["execute", "cancel"])
def test_an_instant_of_another_action_is_no_plan_that_is_done(table: HudiTable, run: Run, mode: str) -> None:
    first = table.refreshed().timeline.completed_commits()[0]
    with pytest.raises(ConfigError, match=rf"--instant-time {first.timestamp} is no pending .* of this table"):
        run(table, mode=mode, instant_time=first.timestamp)
    done = run(table)
    assert (
        run(table, mode=mode, instant_time=done.instant).reason == f"{done.action} {done.instant} is completed already"
    )


def test_a_plan_is_taken_back_by_hash(table: HudiTable) -> None:
    """What was finished of it goes too, and is seen first."""
    planned = compact(table, mode="schedule")
    part = compact(table, mode="execute", max_bytes=planned.bytes_in // 2)
    assert part.extra["done"] > 0
    given = {"mode": "cancel", "instant_time": planned.instant}
    dry = compact(table, dry_run=True, **given)
    assert dry.plan is not None
    assert [one["bytes"] > 0 for one in dry.plan["deletes"]] == [True] * part.extra["done"]
    other = "0" * 24 + dry.extra["plan_hash"][24:]
    with pytest.raises(WriteConflictError, match="the plan is not"):
        compact(table, plan_hash=other, **given)
    assert len(actions(table)) == 1
    done = compact(table, plan_hash=dry.extra["plan_hash"], **given)
    assert (done.state, actions(table)) == (JobState.COMPLETED, [(Action.ROLLBACK, State.COMPLETED)])
    for one in dry.plan["deletes"]:
        assert table.storage.stat(f"{table.base_path}/{one['path']}") is None
    update(table, "a", 7)
    assert compact(table).state is JobState.COMPLETED
