"""A dry run of ``rollback.py`` tells what the run then does, and the run by its hash does that alone, once."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import StorageError, WriteConflictError
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload, encode_payload, note_of
from spark_jobs.core.timeline.payloads.schemas import ROLLBACK_PLAN
from spark_jobs.options import JobResult, JobState, RollbackOptions
from spark_jobs.services import deletions
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.write import perform
from tests.faults import local_table as local
from tests.support.engines import StopsAfter
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.services.two_writes import FIRST, SECOND, die_writing, is_sound, roll_back, table_of

pytestmark = pytest.mark.unit


def break_off(path: Folder, after: int, plan_hash: str | None = None) -> None:
    options = RollbackOptions(base_path=str(path), plan_hash=plan_hash)
    with pytest.raises(StorageError, match="the disk is full"):
        run_rollback(options, job_context(engine=StopsAfter(after), lake=path.lake))


def files(path: Folder) -> set[str]:
    return {str(one.relative_to(path)) for one in path.glob("[!.]*/*.parquet")}


def rollbacks(path: Folder) -> tuple[Instant, ...]:
    return path.table().timeline.filter(lambda one: one.action is Action.ROLLBACK)


def named(look: JobResult) -> set[str]:
    assert look.plan is not None
    return {file for one in look.plan["rollbacks"] for file in one["deletions"]}


@pytest.fixture
def path(root: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Two commits, and a dead write that made files in two partitions."""
    monkeypatch.setattr(deletions, "PIECE", 1)
    made = root / "t"
    table_of(made, "COPY_ON_WRITE")
    die_writing(made)
    return made


@pytest.mark.parametrize("hashed", [False, True])
def test_a_pending_rollback_counts_with_the_files_that_are_left(path: Folder, hashed: bool) -> None:
    all_files = len(named(roll_back(path, dry_run=True)))
    break_off(path, 1)
    (pending,) = rollbacks(path)
    look = roll_back(path, dry_run=True)
    assert (look.plan or {})["finishes"] == [pending.timestamp]
    assert look.extra["deleted_files"] == len(named(look)) == all_files - 1
    before = files(path)
    done = roll_back(path, plan_hash=look.extra["plan_hash"] if hashed else None)
    assert (done.state, done.instant) == (JobState.COMPLETED, pending.timestamp)
    assert before - files(path) == named(look)
    assert (done.extra["deleted_files"], done.extra["deleted_bytes"]) == (all_files - 1, look.extra["deleted_bytes"])
    if hashed:
        assert roll_back(path, plan_hash=look.extra["plan_hash"]).instant == done.instant
    assert local.rows_of(path) == local.expected_rows(FIRST, SECOND)
    assert is_sound(path)


def test_a_run_by_a_hash_that_broke_off_goes_on_and_is_found_done(path: Folder) -> None:
    shown = roll_back(path, dry_run=True).extra["plan_hash"]
    break_off(path, 1, shown)
    done = roll_back(path, plan_hash=shown)
    assert done.state is JobState.COMPLETED
    later = die_writing(path)
    again = roll_back(path, plan_hash=shown)
    assert (again.instant, again.extra["rolled_back"]) == (done.instant, done.extra["rolled_back"])
    assert again.reason == f"rollback {done.instant} carried out this plan before"
    assert [one.timestamp for one in path.table().timeline.pending_writes()] == [later]


def test_what_is_left_of_a_plan_of_several_is_done_by_its_hash(path: Folder) -> None:
    first = path.table().timeline.pending_writes()[0]
    with pytest.MonkeyPatch.context() as lazy:
        lazy.setattr(perform, "undo_failed_writes", lambda *given: None)
        second = die_beside(path, first)
    shown = roll_back(path, dry_run=True).extra["plan_hash"]
    break_off(path, len(named(roll_back(path, second, dry_run=True))), shown)  # the newest goes first
    done = roll_back(path, plan_hash=shown)
    assert sorted(done.extra["rolled_back"]) == [first.timestamp, second]
    assert not path.table().timeline.pending_writes()
    assert "carried out this plan before" in str(roll_back(path, plan_hash=shown).reason)
    assert is_sound(path)


def die_beside(path: Folder, other: Instant) -> str:
    local.die_writing(path, SECOND)
    (made,) = (one for one in path.table().timeline.pending_writes() if one != other)
    return made.timestamp


def test_a_hash_that_is_refused_finishes_nothing(path: Folder) -> None:
    break_off(path, 1)
    before, pending = files(path), rollbacks(path)
    with pytest.raises(WriteConflictError, match="the plan is not 0"):
        roll_back(path, plan_hash=f"{'0' * 24}-1-1-1")
    assert (files(path), rollbacks(path)) == (before, pending)


def test_one_write_that_is_named_is_all_that_is_undone(path: Folder) -> None:
    first = path.table().timeline.pending_writes()[0]
    with pytest.MonkeyPatch.context() as lazy:
        lazy.setattr(perform, "undo_failed_writes", lambda *given: None)
        second = die_beside(path, first)
    assert list(roll_back(path, second).extra["rolled_back"]) == [second]
    assert path.table().timeline.pending_writes() == (first,)


def test_a_note_stands_beside_the_record() -> None:
    value = {"instantToRollback": {"commitTime": "1", "action": "commit"}, "RollbackRequests": [], "version": 1}
    data = encode_payload(ROLLBACK_PLAN, value, {"k": "ä"})
    assert note_of(data) == {"k": "ä"}
    assert decode_payload(data, "x") == decode_payload(encode_payload(ROLLBACK_PLAN, value), "x")
    assert note_of(data[:40]) == note_of(b"") == note_of(encode_payload(ROLLBACK_PLAN, value)) == {}
