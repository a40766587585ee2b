"""``savepoint.py``: the files of a commit, kept from cleaning until the savepoint is deleted."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc
import pytest

from spark_jobs.core.errors import ConfigError, CorruptTableError, StorageError, UnknownInstantError, WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.steps import open_savepoint, request
from spark_jobs.core.transaction.transaction import resume
from spark_jobs.options import (
    CleanOptions,
    ClusteringOptions,
    JobResult,
    JobState,
    RestoreOptions,
    RollbackOptions,
    SavepointMode,
    SavepointOptions,
    ServiceMode,
)
from spark_jobs.options.restore import RestoreCheck
from spark_jobs.services.cleaning.candidates import plan_clean
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from spark_jobs.write.inserted_keys import InsertedKeys
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.core.support import next_time

pytestmark = pytest.mark.unit

AT_ONCE = {"hoodie.metadata.compact.max.delta.commits": "1"}
FIRST = local.batch(0, 20, "one", 1)


def savepoint(path: Folder, mode: str = "create", instant: str | None = None, **more: Any) -> JobResult:
    options = SavepointOptions(base_path=str(path), mode=SavepointMode(mode), instant_time=instant, **more)
    return run_savepoint(options, job_context(lake=path.lake))


def clean(path: Folder) -> JobResult:
    conf = {"hoodie.cleaner.commits.retained": "1"}
    return run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=conf), job_context(lake=path.lake))


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def path(request: pytest.FixtureRequest, root: Folder) -> Folder:
    local.create(root / "t", request.param)
    local.write(root / "t", FIRST, "first")
    local.write(root / "t", local.batch(0, 10, "two", 2), "second")
    return root / "t"


def deleted_by_hudi(path: Folder, instant: str) -> None:
    """It leaves the commit where it is (SavepointHelpers.deleteSavepoint)."""
    for name in (f"{instant}.savepoint", f"{instant}.savepoint.inflight"):
        (path / ".hoodie" / name).unlink()


def commits(path: Folder) -> list[str]:
    return [one.timestamp for one in path.table().timeline.completed_commits()]


def test_what_is_saved_outlives_cleaning_until_it_is_deleted(path: Folder) -> None:
    saved = commits(path)[1]
    as_of = path.table().scan(as_of=saved).to_arrow().sort_by("id")
    look = savepoint(path, dry_run=True, user="me", comments="before the migration")
    assert (look.state, look.instant) == (JobState.DRY_RUN, saved)
    assert savepoint(path, "list").extra["savepoints"] == []
    made = savepoint(path, user="me", comments="before the migration")
    files = [f"{place}/{name}" for place, names in (look.plan or {})["files_by_partition"].items() for name in names]
    assert (made.state, made.files_in) == (JobState.COMPLETED, len(files))
    (listed,) = savepoint(path, "list").extra["savepoints"]
    assert {name: listed[name] for name in ("instant", "user", "comments", "files")} == {
        "instant": saved,
        "user": "me",
        "comments": "before the migration",
        "files": len(files),
    }
    for number in range(3, 6):
        local.write(path, local.batch(0, 20, "more", number), str(number))
        if path.table().config.is_merge_on_read:
            local.compact(path)
    assert clean(path).extra["held_files"] >= len(files)  # and the logs that its slices got since
    assert all((path / one).is_file() for one in files)
    assert path.table().scan(as_of=saved).to_arrow().sort_by("id").equals(as_of)
    assert validate(str(path), deep=True, lake=path.lake) == []
    assert "is saved already" in str(savepoint(path, instant=saved).reason)

    assert savepoint(path, "delete", saved, dry_run=True).state is JobState.DRY_RUN
    assert savepoint(path, "delete", saved).state is JobState.COMPLETED
    assert f"{saved} is not saved; savepoints of the table: none" in str(savepoint(path, "delete", saved).reason)
    local.write(path, local.batch(0, 1, "last", 9), "last")
    # the last clean noted what it spared: this one looks at all partitions, also at those that did not change
    assert clean(path).state is JobState.COMPLETED
    assert not any((path / one).exists() for one in files)


def test_only_a_commit_that_is_whole_can_be_saved(path: Folder) -> None:
    first = commits(path)[0]
    local.write(path, local.batch(0, 20, "three", 3), "third")
    if path.table().config.is_merge_on_read:
        local.compact(path)
        local.write(path, local.batch(0, 20, "four", 4), "fourth")
    assert clean(path).state is JobState.COMPLETED
    with pytest.raises(ConfigError, match=f"can't be read as of {first}: cleaning removed"):
        savepoint(path, instant=first)
    with pytest.raises(ConfigError, match="--instant-time 123 is no completed commit of the active timeline"):
        savepoint(path, instant="123")
    with pytest.raises(ConfigError, match="--mode delete needs --instant-time"):
        savepoint(path, "delete")


def test_an_empty_table_has_nothing_to_save(root: Folder) -> None:
    local.create(root / "t", "COPY_ON_WRITE")
    with pytest.raises(ConfigError, match="no completed commit to save: write to it first"):
        savepoint(root / "t")


def test_a_clean_that_is_pending_is_looked_at(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    for number in range(3):
        local.write(path, FIRST, str(number))
    table = path.table()
    plan = plan_clean(table, {"hoodie.cleaner.commits.retained": "1"})
    assert plan.files
    time = next_time(table)
    request(table.timeline, time, Action.CLEAN, plan.requested().payload(table.base_path))
    with pytest.raises(WriteConflictError, match=f"clean {time}, which is pending, deletes"):
        savepoint(path, instant=commits(path)[0])
    assert savepoint(path).state is JobState.COMPLETED


def test_one_that_broke_off_is_ended_or_deleted(path: Folder) -> None:
    first, second = commits(path)
    for instant in (first, second):
        open_savepoint(path.table().timeline, instant)
    assert savepoint(path, instant=first).state is JobState.COMPLETED
    assert savepoint(path, "delete", second).state is JobState.COMPLETED
    found = [one for one in path.table().timeline.instants if one.action is Action.SAVEPOINT]
    assert [(one.timestamp, one.state) for one in found] == [(first, State.COMPLETED)]


@pytest.mark.parametrize(
    ("how", "enabled"),
    [
        ("all are saved", "true"),
        ("all are saved", "false"),
        ("the savepoint is deleted", "true"),
        ("the savepoint is deleted", "false"),
        ("Hudi deletes the savepoint", "true"),
        ("Hudi deletes the savepoint", "false"),
        ("the newest went too", "false"),  # as Hudi archives where enough older ones are saved
    ],
)
def test_what_was_archived_behind_a_savepoint_counts_when_no_unsaved_write_is_older(
    root: Folder, how: str, enabled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the rows of archived writes would be hidden by those of the saved one."""
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", enabled)
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    all_rows, halves = local.batch(0, 4, "one", 1), [local.batch(0, 4, value, 2) for value in ("b", "b again", "a")]
    times = [local.write(path, all_rows, "first")]
    savepoint(path, instant=times[0])
    later = [half.filter(pc.equal(half["p"], half["v"][0].as_py()[:1])) for half in halves]
    times += [local.write(path, rows, str(number)) for number, rows in enumerate(later)]
    table = path.table()
    maintain_metadata_table(table.transaction_settings(AT_ONCE), AT_ONCE, pytest.fail)
    going = [
        one
        for one in table.timeline.completed_commits()
        if one.timestamp in times[1 : 4 if how == "the newest went too" else 3]
    ]
    archive(table.timeline, table.base_path, going)
    before = local.rows_of(path)
    assert before == local.expected_rows(all_rows, *later)
    if how == "all are saved":
        savepoint(path, instant=times[3])
    elif how == "the savepoint is deleted":
        assert savepoint(path, "delete", times[0], dry_run=True).extra["archived"] == times[:1]
        assert commits(path) == [times[0], times[3]]
        assert savepoint(path, "delete", times[0]).extra["archived"] == times[:1]
        assert commits(path) == times[3:]
    elif how == "Hudi deletes the savepoint":
        deleted_by_hudi(path, times[0])
        with pytest.raises(ConfigError, match=r"2 write\(s\) after .* are archived"):
            run_restore(RestoreOptions(base_path=str(path), instant_time=times[0]), job_context(lake=root.lake))
    else:
        with pytest.raises(WriteConflictError, match=f"but {times[0]} is the newest that is not archived"):
            savepoint(path, "delete", times[0])
    assert local.rows_of(path) == before
    assert [str(one) for one in validate(str(path), deep=True, lake=path.lake)] == []
    local.write(path, local.batch(4, 2, "new", 3), "new")
    assert local.rows_of(path) == local.expected_rows(all_rows, *later, local.batch(4, 2, "new", 3))


def test_a_lost_archive_behind_a_savepoint_hides_no_rows(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing says any more whether the files between the saved commit and the next were committed."""
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "false")
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    times = [local.write(path, local.batch(0, 4, "one", 1), "0")]
    savepoint(path, instant=times[0])
    for number, only in enumerate("ba", 1):
        rows = local.batch(0, 4, "later", number)
        times.append(local.write(path, rows.filter(pc.equal(rows["p"], only)), str(number)))
    table, before = path.table(), local.rows_of(path)
    archive(table.timeline, table.base_path, table.timeline.completed_commits()[1:2])
    assert local.rows_of(path) == before
    for one in (path / ".hoodie/archived").glob(".commits*"):
        one.unlink()
    with pytest.raises(UnknownInstantError, match=times[1]):
        local.rows_of(path)


def test_where_a_deletion_died_after_it_archived_the_commit_it_is_to_be_repeated(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    times = [local.write(path, local.batch(0, 4, f"v{number}", number), str(number)) for number in range(2)]
    savepoint(path, instant=times[0])
    table = path.table()
    archive(table.timeline, table.base_path, table.timeline.completed_commits()[:1])
    (found,) = [one for one in validate(str(path), lake=path.lake) if "the commit of savepoint" in one.what]
    assert f"`savepoint.py --mode delete --instant-time {times[0]}`" in found.todo
    assert savepoint(path, "delete", times[0]).state is JobState.COMPLETED
    assert [one for one in validate(str(path), lake=path.lake) if "the commit of savepoint" in one.what] == []


def test_nor_are_rows_hidden_of_a_plan_that_was_carried_out_at_the_second_attempt(root: Folder) -> None:
    """The first was rolled back at the same instant."""
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    halves = {each: local.batch(0, 4, each, 1).filter(pc.equal(local.batch(0, 4, "", 1)["p"], each)) for each in "ab"}
    savepoint(path, instant=local.write(path, halves["a"], "first"))
    local.write(path, halves["b"], "second")
    conf = {**local.AT_ONCE, "hoodie.clustering.plan.strategy.partition.selected": "b"}

    def cluster(mode: ServiceMode) -> None:
        options = ClusteringOptions(base_path=str(path), mode=mode, hoodie_conf=conf)
        run_clustering(options, job_context(lake=root.lake))

    cluster(ServiceMode.SCHEDULE)
    table = path.table()
    settings = table.transaction_settings(conf)
    (plan,) = table.timeline.pending({Action.REPLACE_COMMIT})
    with settings.new_lock() as locked:
        first = resume(settings, plan, locked)
    first.to_inflight()
    first.abandon()
    cluster(ServiceMode.EXECUTE)
    local.clean(path)
    local.write(path, halves["a"], "third")
    table = path.table()
    assert table.timeline.completed(Action.ROLLBACK)
    archive(table.timeline, table.base_path, table.timeline.completed_commits()[1:-1])
    before = local.rows_of(path)
    assert before == local.expected_rows(*halves.values())
    deleted_by_hudi(path, table.timeline.completed_commits()[0].timestamp)
    assert local.rows_of(path) == before


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_a_damaged_log_of_a_write_that_was_archived_behind_it_is_found_when_it_is_gone(
    root: Folder, enabled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the row of an older log would count."""
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", enabled)
    path = root / "t"
    local.create(path, "MERGE_ON_READ")
    times = [local.write(path, local.batch(0, 4, f"v{number}", number), str(number)) for number in range(4)]
    only_a = local.batch(0, 4, "last", 4)
    times.append(local.write(path, only_a.filter(pc.equal(only_a["p"], "a")), "last"))
    savepoint(path, instant=times[0])
    table = path.table()
    maintain_metadata_table(table.transaction_settings(AT_ONCE), AT_ONCE, pytest.fail)
    archive(table.timeline, table.base_path, table.timeline.completed_commits()[1:4])
    rows = local.rows_of(path)
    assert savepoint(path, "delete", times[0]).extra["archived"] == times[:1]
    assert local.rows_of(path) == rows
    (log,) = (path / "b").glob(".*.log.3_*")
    whole = log.read_bytes()
    for left in (None, b"", whole[:-3]):
        log.unlink(missing_ok=True)
        if left is not None:
            log.write_bytes(left)
        with pytest.raises((CorruptTableError, StorageError), match=log.name):
            local.rows_of(path)


def test_what_archival_keeps_for_others_keeps_the_savepoint_too(path: Folder) -> None:
    times = commits(path)
    savepoint(path, instant=times[0])
    times += [local.write(path, local.batch(0, 4, "more", number), str(number)) for number in (3, 4)]
    table = path.table()
    assert "files" in table.config.metadata_partitions
    archive(table.timeline, table.base_path, table.timeline.completed_commits()[1:3])
    with pytest.raises(WriteConflictError, match=f"the metadata table, .* keeps {times[0]} on the timeline"):
        savepoint(path, "delete", times[0])
    maintain_metadata_table(table.transaction_settings(AT_ONCE), AT_ONCE, pytest.fail)
    savepoint(path, "delete", times[0])
    assert commits(path) == times[3:]


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("what", ["write", "clustering"])
def test_what_was_pending_when_it_was_made_is_kept_too(
    root: Folder, table_type: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older write or plan that is completed later belongs to the moment: it is not to be cleaned, nor its rows."""
    path = root / "t"
    local.create(path, table_type)
    both = local.batch(0, 8, "one", 1)
    local.write(path, both, "first")
    a, b = (local.batch(0, 8, "two", 2).filter(pc.equal(both["p"], each)) for each in ("a", "b"))
    saved: list[str] = []

    if what == "write":
        publish = InsertedKeys.publish

        def after_the_savepoint(self: Any, work: Any) -> Any:
            if not saved:
                saved.append("")
                saved[0] = local.write(path, a, "newer")
                savepoint(path, instant=saved[0])
            return publish(self, work)

        monkeypatch.setattr(InsertedKeys, "publish", after_the_savepoint)
        local.write(path, b, "older")
        expected = local.expected_rows(both, a, b)
    else:
        conf = {**local.AT_ONCE, "hoodie.clustering.plan.strategy.partition.selected": "b"}
        for mode in (ServiceMode.SCHEDULE, ServiceMode.EXECUTE):
            options = ClusteringOptions(base_path=str(path), mode=mode, hoodie_conf=conf)
            run_clustering(options, job_context(lake=root.lake))
            if not saved:
                saved.append(local.write(path, a, "newer"))
                savepoint(path, instant=saved[0])
        expected = local.expected_rows(both, a)
    for number in range(3):
        local.write(path, local.batch(0, 8, "later", 3 + number), f"later {number}")
        if table_type == "MERGE_ON_READ":
            local.compact(path)
    assert clean(path).state is JobState.COMPLETED
    table = path.table()
    assert table.scan(as_of=saved[0]).to_arrow().num_rows == 8
    run_restore(
        RestoreOptions(base_path=str(path), savepoint=saved[0], verify=RestoreCheck.ROWS), job_context(lake=root.lake)
    )
    assert local.rows_of(path) == expected


def test_nor_is_the_last_write_rolled_back_over_archived_ones(root: Folder) -> None:
    """A savepoint says of the commit before them that it can be read, and nothing of what cleaning took of them."""
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    times = [local.write(path, local.batch(0, 4, "v", number), str(number)) for number in range(3)]
    savepoint(path, instant=times[0])
    table = path.table()
    archive(
        table.timeline,
        table.base_path,
        [one for one in table.timeline.completed_commits() if one.timestamp == times[1]],
    )
    with pytest.raises(ConfigError, match=f"commit {times[1]}, which came before {times[2]}, is archived"):
        run_rollback(RollbackOptions(base_path=str(path), instant_time=times[2]), job_context(lake=root.lake))
