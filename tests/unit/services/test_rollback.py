"""Rollback of writes that died: by markers, by listing, twice, and with a death at every storage call of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

import numpy as np
import pytest

from spark_jobs.core.files.markers import delete_markers, marker_folder, read_markers
from spark_jobs.core.files.names import Marker, MarkerType
from spark_jobs.core.format.folders import SOURCE_FOLDER
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import stamp
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.storage import FileStatus
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload
from spark_jobs.core.timeline.plans.rollback import RequestedRollback, RollbackRequest
from spark_jobs.core.timeline.results import NamedInstant
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from spark_jobs.core.transaction.transaction import TransactionSettings, begin
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.services.compaction.plan import CompactionLimits, plan_compaction
from spark_jobs.services.rewriting.context import claim
from spark_jobs.services.rollback import execute
from spark_jobs.services.rollback.execute import roll_back
from spark_jobs.services.rollback.failed_writes import abandoned_writes, roll_back_failed_writes, undo
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.rollback.plan import plan_by_listing, plan_by_markers
from spark_jobs.services.validation.run import validate
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.support.locks import outlast
from tests.support.payloads import stored
from tests.unit.core.support import (
    Died,
    HandClock,
    MortalStorage,
    contents,
    context_of,
    rows,
    scope,
    start,
)
from tests.unit.services.dead_writes import BEFORE, T1, T2, FailedWrite, dies, failed_write, planned_by_another, write

pytestmark = pytest.mark.unit


def assert_undone(failed: FailedWrite, rollbacks: int = 1) -> None:
    line = failed.table.refreshed().timeline
    assert [(one.timestamp, one.action) for one in line.instants if one.action is not Action.ROLLBACK] == [
        (T1, Action.DELTA_COMMIT)
    ]
    rolled_back = [one for one in line.instants if one.action is Action.ROLLBACK]
    assert [one.is_completed for one in rolled_back] == [True] * rollbacks
    assert contents(failed.table) == BEFORE
    assert failed.new.path not in failed.data_files()
    assert read_markers(failed.table.storage, failed.table.base_path, T2) is None
    assert not file_at(failed.table.storage, heartbeat_path(failed.table.base_path, T2)).exists()
    # the blocks of the failed write are taken back for good, though an instant of the same time were to complete
    view = failed.table.refreshed().view()
    assert all(log.name.file_id == "g-0" for one in view.latest_slices() for log in one.log_files)


def lose_markers(table: HudiTable, instant: str) -> None:
    """Nothing names the files of a write any more, and somebody said that it was never completed."""
    delete_markers(table.storage, table.base_path, instant)
    table.storage.create(f"{marker_folder(table.base_path, instant)}/never-completed", b"")


@pytest.mark.parametrize("with_markers", [True, False])
def test_a_dead_write_is_undone(root: Folder, with_markers: bool) -> None:
    failed = failed_write(root / "t")
    if not with_markers:
        lose_markers(failed.table, T2)
    ((target, by),) = roll_back_failed_writes(failed.settings())
    assert target == T2
    assert_undone(failed)
    line = failed.table.refreshed().timeline
    metadata = line.payload(Instant(by, Action.ROLLBACK, State.COMPLETED), HandClock())
    (partition,) = metadata["partitionMetadata"].values()
    assert [PurePosixPath(path).name for path in partition["successDeleteFiles"]] == [failed.new.file_name]
    assert [PurePosixPath(path).name for path in partition["logFilesFromFailedCommit"]] == [failed.log.file_name]
    assert metadata["commitsRollback"] == [T2]
    assert roll_back_failed_writes(failed.settings()) == []


def test_the_command_block_takes_the_blocks_back_whatever_the_timeline_says(root: Folder) -> None:
    failed = failed_write(root / "t")
    roll_back_failed_writes(failed.settings())
    reader = failed.table.refreshed().scan().reader()
    (one,) = failed.table.refreshed().file_slices()
    survey = reader.survey_logs(one, lambda instant: True)
    assert (survey.valid, survey.rollback_blocks) == ((), 1)


def hold_rows(failed: FailedWrite, time: str) -> None:
    failed.table.storage.create(f"{failed.table.base_path}/{SOURCE_FOLDER}/{time}/0-0-0.parquet", b"rows")


def held(failed: FailedWrite) -> list[str]:
    """Times of the writes whose rows are there."""
    return [one.name for one in failed.table.storage.list(f"{failed.table.base_path}/{SOURCE_FOLDER}")]


def by_the_next_write(failed: FailedWrite) -> None:
    roll_back_failed_writes(failed.settings())


def by_name(failed: FailedWrite) -> None:
    run_rollback(
        RollbackOptions(base_path=failed.table.base_path, instant_time=T2), job_context(lake=failed.table.lake)
    )


def in_two_runs(failed: FailedWrite) -> None:
    """The first dies before its rollback is completed."""
    with pytest.MonkeyPatch.context() as dying:
        dying.setattr(execute, "complete", die)
        with pytest.raises(Died):
            by_the_next_write(failed)
    by_the_next_write(failed)


def and_swept(failed: FailedWrite) -> None:
    """The first dies when its rollback is completed."""
    with pytest.MonkeyPatch.context() as dying:
        dying.setattr(execute, "delete_markers", die)
        with pytest.raises(Died):
            by_the_next_write(failed)
    assert T2 in held(failed)
    found = validate(failed.table.base_path, lake=failed.table.lake)
    assert f"{SOURCE_FOLDER}/{T2}" in [one.path for one in found]
    by_the_next_write(failed)


def die(*_: object) -> None:
    raise Died


@pytest.mark.parametrize("undone", [by_the_next_write, by_name, in_two_runs, and_swept])
def test_rows_that_a_dead_write_held_go_with_it(root: Folder, undone: Callable[[FailedWrite], None]) -> None:
    """Those of writers that live stay."""
    failed = failed_write(root / "t")
    living = str(int(T2) + 1)
    start(failed.table, living)
    heartbeat = heartbeat_path(failed.table.base_path, living)
    failed.table.storage.create(heartbeat, b"")
    for time in (T2, living):
        hold_rows(failed, time)
    undone(failed)
    assert held(failed) == [living]


def test_whatever_has_the_name_of_rows_that_a_dead_write_held_goes(root: Folder) -> None:
    failed = failed_write(root / "t")
    hold_rows(failed, T1)  # completed: a task outlived its write
    failed.table.storage.create(f"{failed.table.base_path}/{SOURCE_FOLDER}/20230101000000000", b"a file")
    by_the_next_write(failed)
    assert held(failed) == []


def test_a_write_that_never_got_inflight_leaves_no_files(root: Folder) -> None:
    failed = failed_write(root / "t")
    roll_back_failed_writes(failed.settings())
    transaction = begin(failed.settings(), Action.DELTA_COMMIT)
    assert transaction is not None
    transaction.abandon()
    files = failed.data_files()
    assert [target for target, _ in roll_back_failed_writes(failed.settings())] == [transaction.time]
    assert failed.data_files() == files


def test_a_live_write_is_left_alone(root: Folder) -> None:
    failed = failed_write(root / "t")
    transaction = begin(failed.settings(), Action.DELTA_COMMIT)
    assert transaction is not None
    transaction.to_inflight()
    assert [target for target, _ in roll_back_failed_writes(failed.settings())] == [T2]
    assert abandoned_writes(failed.settings(), failed.table.refreshed().timeline) == []
    undo(failed.settings(), "no such instant", lambda line: None)
    transaction.abandon()


@pytest.mark.parametrize("with_markers", [True, False])
def test_a_rollback_that_dies_at_any_call_is_finished_by_the_next_writer(root: Folder, with_markers: bool) -> None:
    deaths = 0
    while True:
        failed = failed_write(root / str(deaths))
        if not with_markers:
            lose_markers(failed.table, T2)
        storage = MortalStorage(deaths, failed.table.storage)
        settings = failed.settings(storage)
        if not dies(lambda settings=settings: roll_back_failed_writes(settings)):  # type: ignore[misc]
            break
        outlast(root / str(deaths))
        roll_back_failed_writes(failed.settings())
        assert_undone(failed)
        roll_back_failed_writes(failed.settings())
        assert_undone(failed)
        deaths += 1
        assert deaths < 60
    assert deaths > 10


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.9])
def test_a_rollback_whose_plan_was_not_written_to_its_end_is_planned_anew(root: Folder, share: float) -> None:
    failed = failed_write(root / "t")
    plan, data = planned_by_another(failed, "20240101000000003")
    plan.write_bytes(data[: int(len(data) * share)])
    ((target, by),) = roll_back_failed_writes(failed.settings())
    assert target == T2
    assert by != "20240101000000003"
    assert not plan.exists()
    assert_undone(failed)


def compaction_that_died(path: Folder) -> tuple[FailedWrite, Instant]:
    """A compaction plan whose worker made a base file, then died."""
    failed = failed_write(path)
    roll_back_failed_writes(failed.settings())
    table = failed.table
    time = "20990101000000000"
    limits = CompactionLimits(target_io=100, log_size=0, max_file_size=1000)
    plan = plan_compaction(table.refreshed().file_slices(), frozenset(), limits)
    inflight = start(table, time, Action.COMPACTION, plan.requested(limits).payload())
    write(table, time, "g", *BEFORE)
    return failed, inflight


def test_a_dead_compaction_goes_back_to_its_plan(root: Folder) -> None:
    failed, inflight = compaction_that_died(root / "t")
    files = failed.data_files()
    assert roll_back_failed_writes(failed.settings()) == []  # the next ingest leaves plans alone
    told: list[str] = []
    transaction = claim(failed.settings(), inflight, told.append)
    assert transaction is not None
    assert "whose worker is gone" in told[0]
    assert transaction.instant.state is State.REQUESTED
    assert len(files - failed.data_files()) == 1
    assert contents(failed.table) == BEFORE
    transaction.abandon()


def test_a_rollback_of_a_compaction_that_dies_is_finished_before_the_plan_is_taken_again(root: Folder) -> None:
    deaths = 0
    while True:
        failed, inflight = compaction_that_died(root / str(deaths))
        settings = failed.settings(MortalStorage(deaths, failed.table.storage))

        def work(settings: TransactionSettings = settings, inflight: Instant = inflight) -> None:
            with settings.new_lock():
                roll_back(settings, settings.load_timeline(), inflight, keep_plan=True)

        if not dies(work):
            break
        outlast(root / str(deaths))
        transaction = claim(failed.settings(), inflight, lambda line: None)
        assert transaction is not None
        transaction.to_inflight()
        assert roll_back_failed_writes(failed.settings()) == []  # nothing is left that would undo the new worker
        transaction.publish(CommitMetadata().payload(), written=frozenset())
        assert contents(failed.table)
        deaths += 1
        assert deaths < 40
    assert deaths > 5


def test_plan_by_markers() -> None:
    created = Marker("p", "g-0_0-1-1_5.parquet", MarkerType.CREATE)
    merged = Marker("p", "h-0_0-1-1_5.parquet", MarkerType.MERGE)
    appended = Marker("q", ".i-0_3.log.2_0-1-1", MarkerType.APPEND)
    created_log = Marker("q", ".j-0_5.log.1_0-1-1", MarkerType.CREATE)
    assert plan_by_markers(VERSION_6, [created, merged, appended, created_log]) == (
        RollbackRequest(partition="p", file_id="g-0", base_instant="5", delete=("g-0_0-1-1_5.parquet",)),
        RollbackRequest(partition="p", file_id="h-0", base_instant="5", delete=("h-0_0-1-1_5.parquet",)),
        RollbackRequest(partition="q", file_id="i-0", base_instant="3", cancel={".i-0_3.log.2_0-1-1": 1}),
        RollbackRequest(partition="q", file_id="j-0", base_instant="5", delete=(".j-0_5.log.1_0-1-1",)),
    )


def test_logs_of_no_slice_are_deleted_whole() -> None:
    appended = [
        Marker("q", ".i-0_3.log.2_0-1-1", MarkerType.APPEND),
        Marker("q", ".j-0_4.log.1_0-1-1", MarkerType.APPEND),
    ]
    found = plan_by_markers(VERSION_6, appended, lambda partition, log: log.instant == "4")
    assert found == (
        RollbackRequest(partition="q", file_id="i-0", base_instant="3", cancel={".i-0_3.log.2_0-1-1": 1}),
        RollbackRequest(partition="q", file_id="j-0", base_instant="4", delete=(".j-0_4.log.1_0-1-1",)),
    )
    files = listed(".i-0_3.log.2_0-1-1", ".j-0_4.log.1_0-1-1")
    dead = Instant("5", Action.DELTA_COMMIT, State.INFLIGHT)
    by_listing = plan_by_listing(
        VERSION_6, dead, files, lambda *given: ["5"], lambda partition, log: log.instant == "4"
    )
    assert [(one.delete, [*one.cancel]) for one in by_listing] == [
        ((), [".i-0_3.log.2_0-1-1"]),
        ((".j-0_4.log.1_0-1-1",), []),
    ]


@pytest.mark.parametrize("with_markers", [True, False])
def test_the_log_of_a_file_group_that_a_dead_write_began_goes_whole(root: Folder, with_markers: bool) -> None:
    failed = failed_write(root / "t")
    target = AppendTarget(partition="p", file_id="n-0", base_instant=T2, base_file="", log_names=(), next_version=1)
    context = context_of(failed.table, T2)
    changes = Changes(stamp(rows(("n", 2, "two"), partition="p"), context, scope(), "p", "n-0"), np.array([False]))
    [log] = append_changes(context, scope(), target, changes, hard_deletes=False)
    assert log.path in failed.data_files()
    if not with_markers:
        lose_markers(failed.table, T2)
    ((_, by),) = roll_back_failed_writes(failed.settings())
    assert_undone(failed)
    assert [path for path in failed.data_files() if "n-0" in path] == []
    raw = failed.table.refreshed().timeline.payload(Instant(by, Action.ROLLBACK, State.COMPLETED), HandClock())
    (partition,) = raw["partitionMetadata"].values()
    assert log.file_name in [PurePosixPath(path).name for path in partition["successDeleteFiles"]]
    assert [PurePosixPath(path).name for path in partition["logFilesFromFailedCommit"]] == [failed.log.file_name]


def listed(*names: str) -> list[tuple[str, FileStatus]]:
    return [
        ("p", FileStatus(path=f"/t/p/{name}", size=1, modified_ms=0, is_directory=False, etag="")) for name in names
    ]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (Action.DELTA_COMMIT, ["g-0_0-1-1_5.parquet", ".h-0_3.log.1_0-1-1"]),
        (Action.COMPACTION, ["g-0_0-1-1_5.parquet"]),  # logs on its slice are of other writers
    ],
)
def test_plan_by_listing(action: Action, expected: list[str]) -> None:
    files = listed(
        "g-0_0-1-1_5.parquet",
        "g-0_0-1-1_4.parquet",
        ".h-0_3.log.1_0-1-1",
        ".h-0_3.log.2_0-1-1",
        ".h-0_6.log.1_0-1-1",
        ".hoodie_partition_metadata",
    )

    def instants(partition: str, status: FileStatus) -> list[str]:
        assert status.name != ".h-0_6.log.1_0-1-1", "a log of a later slice need not be read"
        return ["4", "5"] if status.name == ".h-0_3.log.1_0-1-1" else ["4"]

    found = plan_by_listing(VERSION_6, Instant("5", action, State.INFLIGHT), files, instants)
    assert [name for one in found for name in (*one.delete, *one.cancel)] == expected


def test_the_plan_survives_the_timeline() -> None:
    requests = (
        RollbackRequest(partition="", file_id="g-0", base_instant="5", delete=("g-0_0-1-1_5.parquet",)),
        RollbackRequest(partition="p/q", file_id="i-0", base_instant="3", cancel={".i-0_3.log.2_0-1-1": 1}),
    )
    plan = RequestedRollback(target=NamedInstant(time="5", action="deltacommit"), requests=requests)
    raw = decode_payload(stored(plan.payload("/lake/t")), "x")
    assert RequestedRollback.of(raw) == plan
    assert raw["RollbackRequests"][0]["filesToBeDeleted"] == ["/lake/t/g-0_0-1-1_5.parquet"]
