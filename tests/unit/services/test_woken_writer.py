"""A writer that stalled, was taken for dead, and wakes up again: it does not publish, and nothing that is completed is
deleted.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.core.errors import CorruptTableError, WriteConflictError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from spark_jobs.core.transaction.transaction import Transaction, begin
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from tests.support.folder import Folder, file_at
from tests.support.locks import let_go
from tests.unit.core.support import Died, MortalStorage, complete, contents
from tests.unit.services.dead_writes import BEFORE, T2, FailedWrite, failed_write, planned_by_another, write

pytestmark = pytest.mark.unit


def stalled_writer(failed: FailedWrite) -> tuple[Transaction, WriteStat]:
    """It put a file down, then was silent for longer than others wait."""
    transaction = begin(failed.settings(), Action.DELTA_COMMIT)
    assert transaction is not None
    transaction.to_inflight()
    stat = write(failed.table, transaction.time, "w", ("w", 5, "woken"))
    file_at(failed.table.storage, heartbeat_path(failed.table.base_path, transaction.time)).date(1000)
    return transaction, stat


@pytest.mark.parametrize("dies_at", range(12))
def test_a_writer_whose_rollback_began_does_not_publish_whatever_its_heartbeat_says(root: Folder, dies_at: int) -> None:
    failed = failed_write(root / "t")
    roll_back_failed_writes(failed.settings())
    transaction, stat = stalled_writer(failed)
    another = failed.settings()
    another = replace(another, storage=MortalStorage(dies_at, another.storage))
    try:
        roll_back_failed_writes(another)
    except Died:
        # its process is gone, and this one is not
        let_go(failed.table.storage, another.lock)
    beat = file_at(failed.table.storage, heartbeat_path(failed.table.base_path, transaction.time))
    if beat.exists():
        beat.write_bytes(beat.read_bytes())  # a beat that was on its way when the machine slept
    data = CommitMetadata(write_stats=(stat,), operation_type=OperationType.UPSERT).payload()
    published = True
    try:
        transaction.publish(data, written=written_paths([stat]))
    except WriteConflictError as error:
        published = False
        assert "nothing of it is visible" in str(error)  # noqa: PT017  (both ends are right, this tells them apart)
        transaction.abandon()
    assert published == (dies_at < 2)  # the lock, then the plan: from there on it is undone
    rows = [*BEFORE, ("w", 5, "woken")] if published else BEFORE
    roll_back_failed_writes(failed.settings())
    assert contents(failed.table) == rows
    assert roll_back_failed_writes(failed.settings()) == []


def test_a_pending_rollback_of_a_completed_write_is_withdrawn(root: Folder) -> None:
    failed = failed_write(root / "t")
    complete(failed.table, Instant(T2, Action.DELTA_COMMIT, State.INFLIGHT), [failed.log, failed.new])
    rows = contents(failed.table)
    assert len(rows) == 3
    plan, data = planned_by_another(failed, "20240101000000003")
    plan.write_bytes(data)
    plan.with_name("20240101000000003.rollback.inflight").touch()
    assert roll_back_failed_writes(failed.settings()) == []
    assert contents(failed.table) == rows
    assert not list(plan.parent.glob("*.rollback.*"))


def test_a_completed_write_that_lost_files_to_a_rollback_is_reported(root: Folder) -> None:
    failed = failed_write(root / "t")
    complete(failed.table, Instant(T2, Action.DELTA_COMMIT, State.INFLIGHT), [failed.log, failed.new])
    plan, data = planned_by_another(failed, "20240101000000003")
    plan.write_bytes(data)
    file_at(failed.table.storage, failed.table.base_path, failed.new.path).unlink()
    with pytest.raises(CorruptTableError, match=rf"rollback 20240101000000003 deleted {failed.new.path}.*hudi-cli"):
        roll_back_failed_writes(failed.settings())
