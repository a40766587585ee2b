"""Invariants 3, 8 and 12: each harm to a timeline is found, and the file named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.markers import create_marker
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.v6.instant_names import file_name_of
from spark_jobs.services.rollback.failed_writes import undo
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder, file_at
from tests.unit.services.validation.damage import data_files, findings, instant_file, make_old, the_finding

pytestmark = pytest.mark.unit

Unpack = Callable[[str], Folder]


def test_an_instant_that_two_actions_have(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    time = instant_file(base, ".commit").name.split(".")[0]
    (base / ".hoodie" / f"{time}.replacecommit.requested").touch()
    found = the_finding(base, 3)
    assert (found.severity, found.path) == ("ERROR", f".hoodie/{time}.replacecommit")
    assert "is taken by 2 actions (commit, replacecommit)" in found.what


def test_a_savepoint_shares_the_time_of_its_commit(unpack: Unpack) -> None:
    base = unpack("tables/archived")
    assert any(base.glob(".hoodie/*.savepoint"))
    assert findings(base) == []


def test_a_time_that_is_in_no_calendar(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    (base / ".hoodie" / "20261399000000000.commit.requested").touch()
    assert findings(base) == [(3, "ERROR", ".hoodie/20261399000000000.commit.requested")]


@pytest.mark.parametrize(("gone", "named"), [(".commit.requested", "requested"), (".inflight", "inflight")])
def test_a_completed_instant_without_a_state(unpack: Unpack, gone: str, named: str) -> None:
    base = unpack("tables/cow_upserts")
    instant_file(base, gone).unlink()
    found = the_finding(base, 3)
    assert (found.severity, found.path) == ("WARNING", f".hoodie/{instant_file(base, '.commit').name}")
    assert found.what == f"it is completed without its {named} file"


def test_an_execution_without_its_plan(unpack: Unpack) -> None:
    base = unpack("tables/mor_pending_compaction")
    requested = instant_file(base, ".compaction.requested")
    inflight = requested.rename(requested.with_name(requested.name.replace("requested", "inflight")))
    assert (3, "ERROR", f".hoodie/{inflight.name}") in findings(base)
    assert (3, "ERROR", f".hoodie/{requested.name}") in findings(base)


@pytest.mark.parametrize("kept", [100, 1])
def test_commit_metadata_that_was_cut(unpack: Unpack, kept: int) -> None:
    base = unpack("tables/cow_upserts")
    commit = instant_file(base, ".commit", 1)
    commit.write_bytes(commit.read_bytes()[:kept])
    assert (3, "ERROR", f".hoodie/{commit.name}") in findings(base)


def test_commit_metadata_that_is_empty(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    commit = instant_file(base, ".commit", 1)
    commit.write_bytes(b"")
    assert findings(base) == [(3, "WARNING", f".hoodie/{commit.name}")]  # and what it made is no leftover


def test_a_replace_commit_that_is_empty(unpack: Unpack) -> None:
    base = unpack("tables/cow_clustered")
    commit = instant_file(base, ".replacecommit")
    commit.write_bytes(b"")
    assert (3, "ERROR", f".hoodie/{commit.name}") in findings(base)
    with pytest.raises(CorruptTableError, match=f"{commit.name} is empty, and does not say which file groups"):
        base.table().scan().to_arrow()  # else what it replaced is read beside what it wrote


@pytest.mark.parametrize("ending", [".clean", ".rollback", ".savepoint"])
def test_a_result_that_is_unreadable(unpack: Unpack, ending: str) -> None:
    base = unpack("tables/archived")
    result = instant_file(base, ending)
    result.write_bytes(result.read_bytes()[:-20])
    found = the_finding(base, 3)
    assert (found.severity, found.path) == ("ERROR", f".hoodie/{result.name}")


def test_a_clean_that_died_while_it_wrote_its_result(unpack: Unpack) -> None:
    base = unpack("tables/cow_clustered")
    instant_file(base, ".clean").write_bytes(b"")
    assert findings(base) == [(3, "WARNING", f".hoodie/{instant_file(base, '.clean').name}")]


def test_a_plan_that_is_unreadable(unpack: Unpack) -> None:
    base = unpack("tables/mor_pending_compaction")
    requested = instant_file(base, ".compaction.requested")
    requested.write_bytes(b"no Avro")
    assert (3, "ERROR", f".hoodie/{requested.name}") in findings(base)


def test_an_instant_that_left_the_timeline_for_nowhere(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    time = instant_file(base, ".commit", 0).name.split(".")[0]
    for one in base.glob(f".hoodie/{time}.*"):
        one.unlink()
    found = the_finding(base, 8)
    assert (found.severity, found.path) == ("ERROR", f".hoodie/{time}")
    assert f"instant {time} is named by the write stats of" in found.what


def test_an_archive_that_lost_a_file(unpack: Unpack) -> None:
    base = unpack("tables/archived")
    for one in base.glob(".hoodie/archived/.commits_.archive.*"):
        one.unlink()
    assert findings(base) == []  # all files are younger; only rows tell of the time before
    assert {one[:2] for one in findings(base, deep=True)} == {(8, "ERROR")}


def test_an_archive_that_is_unreadable(unpack: Unpack) -> None:
    base = unpack("tables/archived")
    for one in base.glob(".hoodie/archived/.commits_.archive.*"):
        one.write_bytes(b"no log block")
    assert (8, "ERROR", ".hoodie/archived") in findings(base)


def test_archival_went_past_a_pending_write(unpack: Unpack) -> None:
    base = unpack("tables/archived")
    (base / ".hoodie" / "20261121163000000.deltacommit.requested").touch()
    assert (8, "ERROR", ".hoodie/archived") in findings(base)


def test_the_commit_of_a_savepoint_was_archived(unpack: Unpack) -> None:
    base = unpack("tables/archived")
    archived = [one for one in base.table().archived_timeline().instants if one.action.value == "deltacommit"]
    instant_file(base, ".savepoint").copy_to(base / ".hoodie" / f"{archived[-1].timestamp}.savepoint")
    assert (8, "ERROR", ".hoodie/archived") in findings(base)


def test_a_pending_instant_past_its_deadline(unpack: Unpack) -> None:
    base = unpack("tables/mor_pending_compaction")
    requested = instant_file(base, ".compaction.requested")
    make_old(requested, 23)
    assert findings(base) == []
    make_old(requested, 2)
    found = the_finding(base, 12)
    assert (found.severity, found.path) == ("WARNING", f".hoodie/{requested.name}")
    assert found.todo.startswith("execute it: compact.py --mode execute --instant-time ")
    assert validate(str(base), overdue_hours=48, lake=base.lake) == []


def test_a_pending_write_without_a_pulse(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    pending = base / ".hoodie" / "20991231000000000.commit.requested"
    pending.touch()
    assert findings(base) == []  # whoever began it may be at work
    beat = base / ".hoodie" / ".heartbeat" / "20991231000000000"
    beat.parent.mkdir(exist_ok=True)
    beat.touch()
    assert findings(base) == []
    make_old(beat, 1)
    assert findings(base) == [(12, "WARNING", f".hoodie/{pending.name}")]
    assert data_files(base)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_write_that_lost_its_completed_file(root: Folder, table_type: str) -> None:
    path = root / "t"
    local.create(path, table_type)
    local.write(path, local.batch(0, 4, "one", 1), "first")
    time = local.write(path, local.batch(0, 4, "two", 2), "second")
    table = path.table()
    (done,) = table.timeline.find(time)
    file_at(table.storage, table.timeline.path(done)).unlink()
    found = the_finding(path, 3)
    assert (found.severity, found.path) == ("ERROR", f".hoodie/{file_name_of(done)}")
    assert "restore it from a copy" in found.todo
    create_marker(table.storage, table.base_path, time, "a", f"x_1-1-1_{time}.parquet", MarkerType.CREATE)
    assert findings(path) == []  # a writer that died before it made that file


def test_a_plan_that_is_carried_out_again_at_its_old_time(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    for value in ("one", "two"):
        local.write(path, local.batch(0, 4, value, 1), value)
    local.cluster(path)
    table = path.table()
    (done,) = table.timeline.completed(Action.REPLACE_COMMIT)
    file_at(table.storage, table.timeline.path(done)).unlink()
    assert the_finding(path, 3).path == f".hoodie/{file_name_of(done)}"
    undo(table.transaction_settings({}), done.timestamp, print)
    assert findings(path) == []
    file_at(table.storage, table.timeline.path(done.at(State.INFLIGHT))).write_bytes(b"")
    assert findings(path) == []  # Hudi has begun it, and made no marker yet


def test_a_lost_compaction_upon_which_a_later_one_built(root: Folder) -> None:
    """Writers would put their logs on its slice, below the newest. Carried out again, it is what it was."""
    base = root / "t"
    local.create(base, "MERGE_ON_READ")
    for number in range(3):
        local.write(base, local.batch(0, 4, f"v{number}", number), f"k{number}")
        if number:
            local.compact(base)
    lost = min(base.glob(".hoodie/*[0-9].commit"))
    lost.unlink()
    assert (3, "ERROR", f".hoodie/{lost.name}") in findings(base)
    for number in (3, 4):
        with pytest.raises(CorruptTableError, match=f"compaction {lost.stem} looks pending"):
            local.write(base, local.batch(0, 4, "unseen", number), f"k{number}")
    local.roll_back(base)
    local.compact(base)
    assert local.rows_of(base) == local.expected_rows(local.batch(0, 4, "v2", 2))
    assert findings(base) == []
