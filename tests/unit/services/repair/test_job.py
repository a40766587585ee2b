"""repair.py mends what validate.py finds, shows it first, and touches nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from spark_jobs.core.errors import HudiError, WriteConflictError
from spark_jobs.core.format.folders import MARKER_FOLDER, SOURCE_FOLDER
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.repair import RepairOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.repair import job
from spark_jobs.services.repair.job import run_repair
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit
TYPES = pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
FIRST = local.batch(0, 8, "one", 1)


def repair(path: Folder, *only: str, dry_run: bool = False, plan_hash: str | None = None) -> JobResult:
    options = RepairOptions(base_path=str(path), only=only, dry_run=dry_run, plan_hash=plan_hash)
    return run_repair(options, job_context(lake=path.lake))


def errors(path: Folder) -> list[str]:
    return [str(one) for one in validate(str(path), deep=True, lake=path.lake) if one.is_error]


def insert_again(path: Folder, rows: pa.Table) -> None:
    """The rows in file groups of their own, whatever keys the table has: what two blind writers leave."""
    path.table().insert(rows, hoodie_conf={**local.WRITES, **local.AT_ONCE})


def leftover(path: Folder, second: int) -> Folder:
    """A file of a process that is gone: one that was never published; a store has none such, and a heartbeat."""
    time = f"2020010100000{second:04}"
    file = path / ".hoodie" / (f"{time}.commit.x.tmp" if path.is_local else f".heartbeat/{time}")
    file.write_bytes(b"{}")
    file.date(1000)
    return file


@pytest.fixture
def path(root: Folder) -> Folder:
    return root / "t"


def test_a_sound_table_has_nothing_to_repair(path: Folder) -> None:
    local.create(path, "COPY_ON_WRITE")
    local.write(path, FIRST, "k")
    result = repair(path)
    assert (result.state, result.reason) == (
        JobState.NOTHING_TO_DO,
        "the table is sound: a validation finds nothing; rows are read only for --only doubled-keys or logs",
    )


def test_a_repair_that_there_is_not(path: Folder) -> None:
    with pytest.raises(OptionsError, match=r"--only=rows is not valid: give some of leftovers, metadata-table"):
        repair(path, "rows")


@TYPES
def test_leftovers_go_and_nothing_else(path: Folder, table_type: str) -> None:
    local.create(path, table_type)
    local.write(path, FIRST, "k")
    before = {one for one in path.rglob("*") if one.is_file()}
    orphan = path / "a" / "11111111-1111-1111-1111-111111111111-0_0-0-1_20200101000000000.parquet"
    orphan.write_bytes(b"PAR1")
    unpublished = leftover(path, 0)
    stranger = path / "a" / "notes.txt"
    stranger.write_bytes(b"keep me")
    dry = repair(path, dry_run=True)
    assert dry.plan is not None
    assert unpublished.relative_to(path).as_posix() in dry.plan["leftovers"]
    assert orphan.exists()
    assert unpublished.exists()
    done = repair(path, plan_hash=dry.extra["plan_hash"])
    assert done.state is JobState.COMPLETED
    assert not unpublished.exists()
    assert stranger.exists()
    assert before <= {one for one in path.rglob("*") if one.is_file()}
    assert local.rows_of(path) == local.expected_rows(FIRST)


def test_folders_of_dead_writes_go(path: Folder) -> None:
    """A storage without folders has files below their paths alone."""
    local.create(path, "COPY_ON_WRITE")
    local.write(path, FIRST, "k")
    folders = [path / MARKER_FOLDER / "20200101000000000", path / SOURCE_FOLDER / "20200101000000001"]
    for one in folders:
        one.mkdir(parents=True, exist_ok=True)
        (one / "a.marker.CREATE").write_bytes(b"")
    dry = repair(path, dry_run=True)
    assert dry.plan is not None
    assert list(dry.plan["leftovers"]) == sorted(one.relative_to(path).as_posix() for one in folders)
    assert repair(path, plan_hash=dry.extra["plan_hash"]).extra["left"] == {"errors": 0, "warnings": 0}
    assert not any(one.exists() for one in folders)


def test_a_plan_that_is_another_by_now_is_refused(path: Folder) -> None:
    local.create(path, "COPY_ON_WRITE")
    local.write(path, FIRST, "k")
    first = leftover(path, 1)
    dry = repair(path, dry_run=True)
    leftover(path, 2)
    with pytest.raises(WriteConflictError, match="had 1 file"):
        repair(path, plan_hash=dry.extra["plan_hash"])
    assert first.exists()


def test_one_by_a_hash_that_was_killed_goes_on(path: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    local.create(path, "COPY_ON_WRITE")
    local.write(path, FIRST, "k")
    insert_again(path, local.batch(0, 3, "newer", 2))
    unpublished = leftover(path, 0)
    only = ("leftovers", "doubled-keys")
    asked = repair(path, *only, dry_run=True).extra["plan_hash"]

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(job, "remove_surplus", die)
        with pytest.raises(KeyboardInterrupt):
            repair(path, *only, plan_hash=asked)
    assert not unpublished.exists()
    came_since = leftover(path, 2)
    done = repair(path, *only, plan_hash=asked)
    assert (done.state, done.extra["repaired"]["doubled-keys"]) == (JobState.COMPLETED, 3)
    assert came_since.exists()
    again = repair(path, *only, plan_hash=asked)
    assert (again.state, again.repeated, again.reason) == (
        JobState.COMPLETED,
        True,
        "a repair carried out this plan before",
    )
    came_since.unlink()
    assert errors(path) == []


@pytest.mark.parametrize("changed", [b"{}", b"[1]", b'{"leftovers": {}', b'{"leftovers": {"a": 1}, "logs": []}'])
def test_a_record_of_a_repair_that_was_changed_says_nothing(
    path: Folder, monkeypatch: pytest.MonkeyPatch, changed: bytes
) -> None:
    local.create(path, "COPY_ON_WRITE")
    local.write(path, FIRST, "k")
    leftover(path, 1)
    asked = repair(path, dry_run=True).extra["plan_hash"]
    repair(path, plan_hash=asked)
    (record,) = (path / ".hoodie" / ".aux" / "pyhudi.repair").iterdir()
    record.write_bytes(changed)
    with pytest.raises(WriteConflictError, match="there is no such plan now"):
        repair(path, plan_hash=asked)


@TYPES
def test_of_a_doubled_key_the_row_stays_that_precombine_and_commit_choose(path: Folder, table_type: str) -> None:
    local.create(path, table_type)
    local.write(path, FIRST, "k")
    older, newer = local.batch(0, 3, "older", 0), local.batch(3, 3, "newer", 2)
    same = local.batch(6, 1, "same time, later commit", 1)
    insert_again(path, pa.concat_tables([older, newer, same]))
    assert len(local.rows_of(path)) == 15
    assert any("is in it and in" in one for one in errors(path))
    refused = repair(path)
    assert refused.state is JobState.NOTHING_TO_DO
    assert str(refused.reason).endswith("rows are read only for --only doubled-keys or logs")
    dry = repair(path, "doubled-keys", dry_run=True)
    assert dry.extra["repaired"]["doubled-keys"] == 7
    assert len(local.rows_of(path)) == 15
    done = repair(path, "doubled-keys", plan_hash=dry.extra["plan_hash"])
    assert (done.state, done.extra["left"]["errors"]) == (JobState.COMPLETED, 0)
    assert local.rows_of(path) == local.expected_rows(FIRST, newer, same)
    assert errors(path) == []
    assert repair(path, "doubled-keys").state is JobState.NOTHING_TO_DO


@TYPES
def test_a_metadata_table_that_misses_a_file_is_made_anew(path: Folder, table_type: str) -> None:
    local.create(path, table_type)
    local.write(path, FIRST, "k")
    local.write(path, local.batch(0, 4, "two", 2), "l")
    logs = sorted((path / ".hoodie" / "metadata" / "files").glob(".*.log.*"), key=lambda one: one.modified_ms)
    logs[-1].unlink()
    assert errors(path)
    done = repair(path, "metadata-table")
    assert done.state is JobState.COMPLETED
    assert errors(path) == []
    assert local.rows_of(path) == local.expected_rows(FIRST, local.batch(0, 4, "two", 2))
    local.write(path, local.batch(0, 2, "three", 3), "m")
    assert errors(path) == []


def emptied(log: Folder) -> None:
    log.write_bytes(b"")


def cut(log: Folder) -> None:
    log.write_bytes(log.read_bytes()[:-1])


def overwritten(log: Folder) -> None:
    log.write_bytes(b"x" * log.size)


@pytest.mark.parametrize("damage", [emptied, cut, overwritten, Folder.unlink])
def test_a_damaged_log_is_given_up_and_the_others_count(path: Folder, damage: Callable[[Folder], None]) -> None:
    local.create(path, "MERGE_ON_READ")
    local.write(path, FIRST, "k")
    second, third = local.batch(0, 6, "two", 2), local.batch(0, 2, "three", 3)
    local.write(path, second, "l")
    local.write(path, third, "m")
    damage(max((path / "a").glob(".*.log.*"), key=lambda one: one.name.split(".log.")[1]))
    with pytest.raises(HudiError):
        local.rows_of(path)
    named = repair(path)
    assert named.state is JobState.NOTHING_TO_DO
    assert "would be mended by --only logs" in str(named.reason)
    dry = repair(path, "logs", dry_run=True)
    assert dry.extra["repaired"]["logs"] == 1
    done = repair(path, "logs", plan_hash=dry.extra["plan_hash"])
    assert done.state is JobState.COMPLETED
    lost = [row for row in local.expected_rows(third) if row[1] == "a"]
    wanted = local.expected_rows(FIRST, second, third)
    assert local.rows_of(path) == [
        next(row for row in local.expected_rows(second) if row[0] == one[0]) if one in lost else one for one in wanted
    ]
    assert repair(path, "logs").state is JobState.NOTHING_TO_DO
    local.write(path, third, "n")
    assert local.rows_of(path) == wanted
    local.clean(path)  # takes the damaged log, which earlier moments needed
    repair(path)  # a metadata table lists a lost log on
    assert errors(path) == []
