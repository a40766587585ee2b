"""Plans that are seen, named by a hash, done in parts, gone on with, and taken back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import ConfigError, StorageError, WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.rewriting.completion import FOLDER
from spark_jobs.services.validation.run import validate
from tests.support.engines import StopsAfter
from tests.support.folder import Folder, file_at
from tests.unit.core.support import contents
from tests.unit.services.by_hand import compact, everything
from tests.unit.services.planned import RUNS, Run, actions, cluster, three_groups, update

pytestmark = pytest.mark.unit


@pytest.fixture
def table(root: Folder) -> HudiTable:
    return three_groups(root / "t")


@RUNS
def test_a_plan_is_done_by_its_hash(table: HudiTable, run: Run) -> None:
    before = everything(table)
    dry = run(table, dry_run=True)
    assert dry.plan is not None
    assert dry.plan["hash"] == dry.extra["plan_hash"]
    assert dry.plan["estimate"]["bytes_out"] > 0
    assert run(table, dry_run=True, plan_hash=dry.plan["hash"]).plan == dry.plan
    done = run(table, plan_hash=dry.plan["hash"])
    assert (done.state, done.files_in, done.bytes_in) == (JobState.COMPLETED, dry.files_in, dry.bytes_in)
    assert everything(table) == before
    again = run(table, plan_hash=dry.plan["hash"])
    assert (again.state, again.instant) == (JobState.COMPLETED, done.instant)
    assert "carried out this plan before" in str(again.reason)
    assert run(table, mode="execute", plan_hash=dry.plan["hash"]).instant == done.instant
    assert len(actions(table)) == 1


@RUNS
def test_another_plan_than_the_hash_means_is_refused(table: HudiTable, run: Run) -> None:
    dry = run(table, dry_run=True)
    update(table, "a", 3)
    for mode in ("schedule", "scheduleAndExecute", "execute"):
        with pytest.raises(WriteConflictError, match=r"1 instant\(s\) came since: \d+ deltacommit"):
            run(table, mode=mode, plan_hash=dry.extra["plan_hash"])
    assert actions(table) == []
    with pytest.raises(ConfigError, match="is no hash of a plan"):
        run(table, plan_hash="abc")


def test_a_pending_plan_is_found_by_its_hash(table: HudiTable) -> None:
    dry = compact(table, dry_run=True)
    planned = compact(table, mode="schedule")
    assert compact(table, dry_run=True, mode="execute").plan["operations"] == dry.plan["operations"]  # type: ignore[index]
    done = compact(table, mode="execute", plan_hash=dry.extra["plan_hash"])
    assert done.instant == planned.instant


@RUNS
def test_a_broken_run_goes_on_where_it_stopped(table: HudiTable, run: Run) -> None:
    before = everything(table)
    with pytest.raises(StorageError, match="disk is full"):
        run(table, StopsAfter(2))
    ((_, state),) = actions(table)
    assert state is State.INFLIGHT
    kept = sorted(file_at(table.storage, table.base_path, FOLDER).glob("*/*.json"))
    assert len(kept) == 2
    files = {stat["path"] for one in kept for stat in json.loads(one.read_text())["stats"]}
    done = run(table, StopsAfter(1), mode="execute")
    assert (done.state, done.extra["resumed"]) == (JobState.COMPLETED, 2)
    written = {
        stat.path
        for one in table.refreshed().timeline.completed_commits()[-1:]
        for stat in table.refreshed().timeline.commit_metadata(one, SYSTEM_CLOCK).write_stats
    }
    assert files < written
    assert everything(table) == before
    assert not list(file_at(table.storage, table.base_path, ".hoodie/.temp").iterdir())
    assert not list(file_at(table.storage, table.base_path, FOLDER).iterdir())
    assert actions(table) == [(done_action(run), State.COMPLETED)]


def done_action(run: Run) -> Action:
    return Action.COMMIT if run is compact else Action.REPLACE_COMMIT


@pytest.mark.parametrize(
    "damage", ["file", "record", "plan", "marker", "number", "stats", "stat", "path", "list", "bytes"]
)
def test_a_record_without_its_files_is_void(table: HudiTable, damage: str) -> None:
    """As after a rollback by Hudi, or a crash in the middle of one."""
    before = everything(table)
    with pytest.raises(StorageError, match="disk is full"):
        compact(table, StopsAfter(1))
    (record,) = file_at(table.storage, table.base_path, FOLDER).glob("*/*.json")
    content = json.loads(record.read_text())
    path = content["stats"][0]["path"]
    if damage == "file":
        file_at(table.storage, table.base_path, path).unlink()
    elif damage == "record":
        record.write_text(record.read_text()[:20])
    elif damage == "plan":
        record.write_text(json.dumps({**content, "plan": "of another"}))
    elif damage == "number":
        record.rename(record.with_name("77.json"))
    elif damage in ("stats", "stat", "path"):
        made = {"stats": [], "stat": [5], "path": [{**content["stats"][0], "path": None}]}[damage]
        record.write_text(json.dumps({**content, "stats": made}))
    elif damage in ("list", "bytes"):
        record.write_bytes(b"[1]" if damage == "list" else b"\xff\xfe")
    else:
        markers = file_at(table.storage, table.base_path, ".hoodie/.temp", record.parent.name)
        (marker,) = markers.glob(f"{path}.marker.*")
        marker.unlink()
    done = compact(table)
    assert (done.state, done.extra["resumed"]) == (JobState.COMPLETED, 0)
    assert everything(table) == before
    assert actions(table)[-1] == (Action.ROLLBACK, State.COMPLETED)


@RUNS
def test_a_budget_does_what_fits_and_leaves_the_rest(table: HudiTable, run: Run) -> None:
    before = everything(table)
    whole = run(table, mode="schedule")
    piece = whole.bytes_in // 3 + 10
    first = run(table, mode="execute", max_bytes=piece)
    assert first.state is JobState.SCHEDULED
    assert (first.extra["done"], first.extra["left"]) == (1, 2)
    assert "1 of 3" in str(first.reason)
    assert everything(table) == before
    second = run(table, mode="execute", max_bytes=piece)
    assert (second.state, second.extra["resumed"], second.extra["left"]) == (JobState.SCHEDULED, 1, 1)
    nothing = run(table, mode="execute", max_bytes=5)
    assert nothing.state is JobState.NOTHING_TO_DO
    assert "more than --max-bytes 5" in str(nothing.reason)
    third = run(table, mode="execute", max_seconds=600)
    assert (third.state, third.extra["resumed"], third.files_in) == (JobState.COMPLETED, 2, whole.files_in)
    assert everything(table) == before


@RUNS
def test_a_new_plan_has_what_fits(table: HudiTable, run: Run) -> None:
    whole = run(table, dry_run=True)
    part = run(table, dry_run=True, max_bytes=whole.bytes_in - 1)
    assert 0 < part.bytes_in < whole.bytes_in
    done = run(table, max_bytes=whole.bytes_in - 1, plan_hash=part.extra["plan_hash"])
    assert (done.state, done.bytes_in) == (JobState.COMPLETED, part.bytes_in)
    too_small = run(table, max_bytes=1)
    assert too_small.state is JobState.NOTHING_TO_DO


def test_a_plan_is_taken_back(table: HudiTable) -> None:
    before = everything(table)
    planned = cluster(table, mode="schedule")
    dry = cluster(table, mode="cancel", instant_time=planned.instant, dry_run=True)
    assert (dry.state, len(actions(table))) == (JobState.DRY_RUN, 1)
    done = cluster(table, mode="cancel", instant_time=planned.instant)
    assert (done.state, done.extra["cancelled"]) == (JobState.COMPLETED, True)
    assert actions(table) == [(Action.ROLLBACK, State.COMPLETED)]
    with pytest.raises(StorageError):
        cluster(table, StopsAfter(1))
    ((_, inflight),) = [one for one in actions(table) if one[0] is Action.REPLACE_COMMIT]
    assert inflight is State.INFLIGHT
    (pending,) = table.refreshed().timeline.pending({Action.REPLACE_COMMIT})
    cluster(table, mode="cancel", instant_time=pending.timestamp)
    assert everything(table) == before
    assert len(list(file_at(table.storage, table.base_path, "p").glob("*.parquet"))) == 3
    with pytest.raises(ConfigError, match="is no pending clustering"):
        cluster(table, mode="cancel", instant_time=pending.timestamp)
    with pytest.raises(ConfigError, match="needs --instant-time"):
        cluster(table, mode="cancel")


def test_a_compaction_that_writers_built_on_is_not_taken_back(table: HudiTable) -> None:
    planned = compact(table, mode="schedule")
    compact(table, mode="cancel", instant_time=planned.instant)
    planned = compact(table, mode="schedule")
    update(table, "a", 5)
    with pytest.raises(WriteConflictError, match=r"1 log file\(s\) lie on the slices that it makes"):
        compact(table, mode="cancel", instant_time=planned.instant)
    compact(table, mode="execute")
    assert ("a", 5) in [(key, stamp) for key, stamp, _ in contents(table)]


def test_an_expired_clustering_plan_gives_way_to_a_new_one(table: HudiTable) -> None:
    planned = cluster(table, mode="schedule")
    old, new = planned.instant or "", "20200101000000000"
    for name in file_at(table.storage, table.base_path, ".hoodie").glob(f"{old}.*"):
        name.rename(name.with_name(name.name.replace(old, new)))
    assert cluster(table, mode="schedule").instant == new
    update(table, "a", 3)
    expires = {"hoodie.clustering.enable.expirations": "true"}
    never = {**expires, "hoodie.clustering.expiration.threshold.mins": str(10**15)}  # beyond the calendar
    assert "is planned already" in str(cluster(table, dry_run=True, conf=never).reason)
    look = cluster(table, dry_run=True, conf=expires)
    assert look.extra["rolls_back"] == [new]
    with pytest.raises(WriteConflictError, match="the plan is not 0"):
        cluster(table, plan_hash=f"{'0' * 24}-1-1-1", conf=expires)
    assert actions(table) == [(Action.REPLACE_COMMIT, State.REQUESTED)]
    again = cluster(table, mode="schedule", conf=expires, plan_hash=look.extra["plan_hash"])
    assert again.instant != new
    assert (again.files_in, again.bytes_in) == (look.files_in, look.bytes_in)
    assert actions(table) == [(Action.ROLLBACK, State.COMPLETED), (Action.REPLACE_COMMIT, State.REQUESTED)]


def test_what_blocks_is_named(table: HudiTable) -> None:
    planned = cluster(table, mode="schedule")
    found = compact(table)
    assert found.state is JobState.NOTHING_TO_DO
    assert f"3 have logs, 3 in pending clustering {planned.instant}" in str(found.reason)


def test_rows_are_laid_out_along_a_curve(table: HudiTable) -> None:
    before = everything(table)
    conf = {
        "hoodie.clustering.plan.strategy.max.bytes.per.group": "1000000",
        "hoodie.clustering.plan.strategy.sort.columns": "id,ts",
        "hoodie.layout.optimize.strategy": "ZORDER",
    }
    done = cluster(table, conf=conf)
    assert (done.state, done.extra["layout"]) == (JobState.COMPLETED, "ZORDER")
    assert everything(table) == before
    found = table.refreshed().scan(columns=["id"]).to_arrow()["id"].to_pylist()
    assert found == sorted(found)


@pytest.mark.parametrize("hashed", ["schedule", "execute"])
def test_what_a_plan_says_of_order_and_size_is_done_whoever_executes_it(table: HudiTable, hashed: str) -> None:
    conf = {
        "hoodie.clustering.plan.strategy.sort.columns": "id,ts",
        "hoodie.layout.optimize.strategy": "ZORDER",
        "hoodie.clustering.plan.strategy.target.file.max.bytes": "40000000",
    }
    shown = cluster(table, conf=conf, dry_run=True).extra["plan_hash"]
    _, layout, target = conf
    for name, value in ((layout, "HILBERT"), (target, "40000001")):
        assert cluster(table, conf={**conf, name: value}, dry_run=True).extra["plan_hash"] != shown
    cluster(table, conf=conf, mode="schedule", plan_hash=shown if hashed == "schedule" else None)
    done = cluster(table, conf={layout: "HILBERT", target: "1"}, mode="execute", plan_hash=shown)
    assert done.state is JobState.COMPLETED
    assert (done.extra["layout"], done.extra["target_file_bytes"]) == ("ZORDER", 40_000_000)


@RUNS
def test_a_worker_that_was_thought_dead_publishes_nothing(table: HudiTable, run: Run) -> None:
    before = everything(table)
    other: list[JobResult] = []

    class Sleeps(LocalEngine):
        def run_each(self, items: Any, work: Any, advance: Any = lambda steps: None, sizes: Any = None) -> Any:
            first = super().run_each(items[:1], work, advance)
            (beat,) = file_at(table.storage, table.base_path, ".hoodie/.heartbeat").iterdir()
            beat.date(1000)
            other.append(run(table, mode="execute"))
            return first + super().run_each(items[1:], work, advance)

    with pytest.raises(WriteConflictError, match="ended while a task of it still wrote"):
        run(table, Sleeps(SYSTEM_CLOCK))
    assert (other[0].state, other[0].extra["resumed"]) == (JobState.COMPLETED, 1)
    assert everything(table) == before
    assert actions(table) == [(done_action(run), State.COMPLETED)]
    live = {path for one in table.refreshed().file_slices() for path in one.paths}
    assert not [one for one in validate(table.base_path, deep=True, lake=table.lake) if one.is_error]
    partition = file_at(table.storage, table.base_path, "p")
    assert {f"p/{one.name}" for one in partition.glob(f"*_{other[0].instant}.parquet")} <= live


@RUNS
def test_a_half_done_plan_is_no_fault_of_the_table(table: HudiTable, run: Run) -> None:
    with pytest.raises(StorageError, match="disk is full"):
        run(table, StopsAfter(2))
    assert not [one for one in validate(table.base_path, deep=True, lake=table.lake) if one.is_error]
