"""Several pending plans of one service: each has file groups of its own (Hudi: ScheduleCompactionActionExecutor,
ClusteringPlanActionExecutor).
"""

from __future__ import annotations

import io
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import StorageError, WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.at_once import carry_out_at_once
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.archival.job import Archival
from spark_jobs.services.health.measure import measure
from spark_jobs.services.inline import run_inline_services
from spark_jobs.services.rewriting.completion import FOLDER
from spark_jobs.services.upkeep import maintain_table
from spark_jobs.services.validation.run import validate
from tests.support.engines import StopsAfter
from tests.support.folder import Folder, file_at
from tests.unit.core.support import contents, new_table
from tests.unit.services.by_hand import AT_ONCE, clean, compact, everything, insert
from tests.unit.services.planned import RUNS, Run, actions, cluster, update

pytestmark = pytest.mark.unit

LOG_COMPACTION = {"log_compaction": True, "conf": {"hoodie.log.compaction.blocks.threshold": "1"}}


@pytest.fixture
def table(root: Folder) -> HudiTable:
    """Three file groups, of which two have a log."""
    made = new_table(root / "t", clock=SYSTEM_CLOCK)
    for key in "abc":
        insert(made, key, f"{key}2")
    for key in "ab":
        update(made, key, 2)
    return made


def plan_two(table: HudiTable, **options: Any) -> tuple[JobResult, JobResult]:
    """A compaction of two groups, and after a write to all groups one of the third."""
    first = compact(table, mode="schedule", **options)
    for key in "abc":
        update(table, key, 3)
    return first, compact(table, mode="schedule", **options)


def pending(table: HudiTable) -> list[str]:
    return [one.timestamp for one in table.refreshed().timeline.instants if not one.is_completed]


def check(table: HudiTable, before: object) -> None:
    assert everything(table) == before
    assert not [one for one in validate(table.base_path, deep=True, lake=table.lake) if one.is_error]


def test_a_second_plan_has_what_the_first_has_not(table: HudiTable) -> None:
    first, second = plan_two(table)
    assert (first.state, second.state) == (JobState.SCHEDULED, JobState.SCHEDULED)
    assert (first.files_in, second.files_in) == (4, 2)
    assert pending(table) == [first.instant, second.instant]
    before = everything(table)
    third = compact(table, mode="schedule")
    assert (third.state, third.instant) == (JobState.SCHEDULED, first.instant)
    assert (
        f"compaction {first.instant} is planned already and was not completed yet (one of 2 pending plans); no other "
        "is made: none of 3 file slices has logs that"
    ) in str(third.reason)
    assert (f"3 have logs, 2 in pending compaction {first.instant}, 1 in pending compaction {second.instant}") in str(
        third.reason
    )
    done = [compact(table, mode="execute"), compact(table)]
    assert [one.instant for one in done] == [first.instant, second.instant]
    assert pending(table) == []
    check(table, before)


def test_plans_are_executed_in_any_order_beside_writers(table: HudiTable) -> None:
    first, second = plan_two(table)
    assert compact(table, mode="execute", instant_time=second.instant).state is JobState.COMPLETED
    for key in "abc":
        update(table, key, 4)
    before = everything(table)
    check(table, before)
    assert compact(table, mode="execute").instant == first.instant
    check(table, before)
    assert [(key, stamp) for key, stamp, _ in contents(table)][:1] == [("a", 4)]


def test_a_dry_run_shows_the_plan_that_schedule_would_make(table: HudiTable) -> None:
    first = compact(table, mode="schedule")
    update(table, "c", 3)
    look = compact(table, mode="schedule", dry_run=True)
    assert look.plan is not None
    assert (look.instant, look.files_in, len(look.plan["operations"])) == (None, 2, 1)
    both = compact(table, dry_run=True)  # this would finish the plan that waits
    assert (both.instant, both.files_in) == (first.instant, 4)
    assert pending(table) == [first.instant]
    made = compact(table, mode="schedule", plan_hash=look.extra["plan_hash"])
    assert (made.state, made.reason, made.files_in) == (JobState.SCHEDULED, None, 2)
    again = compact(table, mode="schedule", plan_hash=look.extra["plan_hash"])
    assert (again.instant, "is planned already" in str(again.reason)) == (made.instant, True)
    with pytest.raises(WriteConflictError, match="there is no such plan now"):
        compact(table, mode="schedule", plan_hash=f"{'0' * 24}-1-1-1")
    done = compact(table, mode="execute", plan_hash=look.extra["plan_hash"])
    assert (done.instant, pending(table)) == (made.instant, [first.instant])


def test_by_hash_a_new_plan_is_made_and_done_while_another_waits(table: HudiTable) -> None:
    first = compact(table, mode="schedule")
    update(table, "c", 3)
    look = compact(table, mode="schedule", dry_run=True)
    before = everything(table)
    done = compact(table, plan_hash=look.extra["plan_hash"])
    assert (done.state, done.files_in, pending(table)) == (JobState.COMPLETED, 2, [first.instant])
    check(table, before)


def test_a_budget_leaves_groups_for_another_plan(table: HudiTable) -> None:
    whole = compact(table, mode="schedule", dry_run=True)
    parts = [compact(table, mode="schedule", max_bytes=whole.bytes_in - 1) for _ in range(2)]
    assert [one.files_in for one in parts] == [2, 2]
    assert sum(one.bytes_in for one in parts) == whole.bytes_in
    assert len(pending(table)) == 2


@RUNS
def test_a_retry_finds_the_plan_of_its_first_try(table: HudiTable, run: Run) -> None:
    """Though there are groups for another one."""
    some = {"max_bytes": run(table, dry_run=True).bytes_in - 1, "mode": "schedule", "idempotency_key": "dag/task/1/-1"}
    first = run(table, **some)
    insert(table, "d", "d2")
    if run is compact:
        update(table, "d", 3)
    again = run(table, **some)
    assert (again.state, again.instant, pending(table)) == (JobState.SCHEDULED, first.instant, [first.instant])
    assert "is planned already" in str(again.reason)
    assert run(table, dry_run=True, **some).instant == first.instant
    other = run(table, **{**some, "idempotency_key": "dag/task/2/-1"})
    assert (other.state, pending(table)) == (JobState.SCHEDULED, [first.instant, other.instant])
    run(table, mode="execute")
    done = run(table, **some)
    assert (done.state, done.instant, pending(table)) == (JobState.COMPLETED, first.instant, [other.instant])
    assert "is completed" in str(done.reason)


def test_a_retry_of_both_finishes_what_the_first_try_planned(table: HudiTable) -> None:
    with pytest.raises(StorageError):
        compact(table, StopsAfter(0))
    (planned,) = pending(table)
    update(table, "c", 3)
    assert compact(table).instant == planned
    assert pending(table) == []


def test_clustering_counts_commits_since_the_last_plan(table: HudiTable) -> None:
    twice = {"hoodie.clustering.async.max.commits": "2", "hoodie.clustering.inline.max.commits": "2"}
    whole = cluster(table, dry_run=True)
    first = cluster(table, mode="schedule", max_bytes=whole.bytes_in - 1)
    again = cluster(table, mode="schedule", conf=twice)
    assert again.instant == first.instant
    assert "no other is made: 0 commit(s) since the last clustering, planned or done, 2 make it due" in str(
        again.reason
    )
    insert(table, "d", "d2")
    insert(table, "e", "e2")
    before = everything(table)
    second = cluster(table, mode="schedule", conf=twice)
    assert second.instant not in (None, first.instant)
    ids = [set(one) for one in _clustered(table)]
    assert len(ids) == 2
    assert not ids[0] & ids[1]
    assert cluster(table, mode="execute", instant_time=second.instant).state is JobState.COMPLETED
    assert cluster(table, mode="execute").instant == first.instant
    check(table, before)


def _clustered(table: HudiTable) -> list[list[str]]:
    now = table.refreshed().timeline
    plans = [now.payload(one.at(State.REQUESTED), SYSTEM_CLOCK) for one in now.instants if not one.is_completed]
    return [
        [part["fileId"] for group in raw["clusteringPlan"]["inputGroups"] for part in group["slices"]] for raw in plans
    ]


def test_groups_of_a_log_compaction_are_compacted_but_not_clustered(table: HudiTable) -> None:
    """As in Hudi: what is compacted makes the log compaction void."""
    first = compact(table, mode="schedule", **LOG_COMPACTION)
    assert first.files_in == 4
    for key in "abc":
        update(table, key, 3)
    second = compact(table, mode="schedule", **LOG_COMPACTION)
    assert second.files_in == 2
    none = cluster(table, mode="schedule")
    assert none.state is JobState.NOTHING_TO_DO
    assert f"2 in pending log compaction {first.instant}, 1 in pending log compaction {second.instant}" in str(
        none.reason
    )
    before = everything(table)
    for _ in range(2):
        assert compact(table, mode="execute", **LOG_COMPACTION).state is JobState.COMPLETED
    check(table, before)
    third = compact(table, mode="schedule", **LOG_COMPACTION)
    assert third.state is JobState.SCHEDULED
    logs = list(file_at(table.storage, table.base_path, "p").glob(".*.log.*"))
    assert compact(table, mode="schedule").files_in == 3 + len(logs)


def test_all_that_tends_a_table_knows_of_both_plans(table: HudiTable) -> None:
    first, second = plan_two(table)
    for key in "abc":
        update(table, key, 4)
    before = everything(table)
    health = measure(table.refreshed(), {}, 24, Progress.silent("health"))
    assert sorted(one.instant for one in health.pending) == [first.instant, second.instant]
    clean(table)
    keep = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.cleaner.commits.retained": "1"}
    settings = table.transaction_settings(keep)
    carry_out_at_once(Archival(keep), settings, table.refreshed(), Progress.silent("archive"))
    check(table, before)
    with pytest.raises(WriteConflictError, match=r"log file\(s\) lie on the slices that it makes"):
        compact(table, mode="cancel", instant_time=first.instant)
    insert(table, "d", "d2")
    update(table, "d", 3)
    third = compact(table, mode="schedule")
    assert compact(table, mode="cancel", instant_time=third.instant).state is JobState.COMPLETED
    assert pending(table) == [first.instant, second.instant]
    before = everything(table)
    for _ in range(2):
        assert compact(table, mode="execute").state is JobState.COMPLETED
    check(table, before)


def test_a_half_done_plan_stays_half_done_while_another_is_executed(table: HudiTable) -> None:
    first, second = plan_two(table)
    before = everything(table)
    with pytest.raises(StorageError):
        compact(table, StopsAfter(1), mode="execute")
    assert compact(table, mode="execute", instant_time=second.instant).state is JobState.COMPLETED
    assert len(list(file_at(table.storage, table.base_path, FOLDER).glob("*/*.json"))) == 1
    done = compact(table, mode="execute")
    assert (done.instant, done.extra["resumed"]) == (first.instant, 1)
    check(table, before)


def test_expired_plans_go_together(table: HudiTable) -> None:
    whole = cluster(table, dry_run=True)
    for name in ("20200101000000000", "20200102000000000"):
        planned = cluster(table, mode="schedule", max_bytes=whole.bytes_in // 2).instant or ""
        for one in file_at(table.storage, table.base_path, ".hoodie").glob(f"{planned}.*"):
            one.rename(one.with_name(one.name.replace(planned, name)))
    expires = {"hoodie.clustering.enable.expirations": "true"}
    look = cluster(table, mode="schedule", dry_run=True, conf=expires)
    assert look.extra["rolls_back"] == ["20200101000000000", "20200102000000000"]
    made = cluster(table, mode="schedule", conf=expires)
    assert (made.files_in, made.bytes_in) == (look.files_in, look.bytes_in)
    assert pending(table) == [made.instant]


def test_a_write_that_only_plans_makes_no_second_plan(table: HudiTable) -> None:
    compact(table, mode="schedule")
    update(table, "c", 3)
    conf = {**AT_ONCE, "hoodie.compact.schedule.inline": "true"}
    told = io.StringIO()
    run_inline_services(LocalEngine(SYSTEM_CLOCK), table, conf, Progress("write", stream=told))
    (one,) = pending(table)
    assert f"no compaction after the commit: compaction {one} is planned already" in told.getvalue()
    assert [action for action, state in actions(table) if state is not State.COMPLETED] == [Action.COMPACTION]


def test_no_service_runs_where_all_are_turned_off(table: HudiTable) -> None:
    off = {**AT_ONCE, "hoodie.table.services.enabled": "false"}
    inline = {"hoodie.compact.inline": "true", "hoodie.clean.automatic": "true", "hoodie.archive.automatic": "true"}
    before = actions(table)
    run_inline_services(LocalEngine(SYSTEM_CLOCK), table, {**off, **inline}, Progress("write", stream=io.StringIO()))
    maintain_table(table.transaction_settings({}), {**off, **inline}, Progress.silent("write"))
    assert actions(table) == before
    run_inline_services(
        LocalEngine(SYSTEM_CLOCK), table, {**AT_ONCE, **inline}, Progress("write", stream=io.StringIO())
    )
    assert actions(table) != before
