"""Files that tasks make after the rollback of their write."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.core.files.markers import create_marker, marker_folder
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.timeline.instant import Action
from spark_jobs.core.transaction.transaction import begin
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes, undo
from tests.unit.core.support import HandClock, new_table

pytestmark = pytest.mark.unit


def test_a_file_made_after_the_rollback_is_deleted_and_never_seen(tmp_path: Path) -> None:
    table = new_table(str(tmp_path / "t"), clock=HandClock(moment=datetime.now(UTC)))
    settings = table.transaction_settings({})
    transaction = begin(settings, Action.DELTA_COMMIT)
    assert transaction is not None
    transaction.to_inflight()
    transaction.abandon()
    undo(settings, transaction.time, lambda text: None)
    late = f"0f0e0d0c-0000-4000-8000-000000000000-0_1-1-1_{transaction.time}.parquet"
    create_marker(settings.storage, table.base_path, transaction.time, "a", late, MarkerType.CREATE)
    file = Path(table.base_path, "a", late)
    file.parent.mkdir(exist_ok=True)
    file.touch()
    assert not table.refreshed().view(["a"]).all_groups()
    roll_back_failed_writes(settings)
    assert not file.exists()
    assert not Path(marker_folder(table.base_path, transaction.time)).exists()


def test_undo_leaves_an_instant_alone_that_another_worker_took_over(tmp_path: Path) -> None:
    table = new_table(str(tmp_path / "t"), clock=HandClock(moment=datetime.now(UTC)))
    settings = table.transaction_settings({})
    transaction = begin(settings, Action.DELTA_COMMIT)
    assert transaction is not None
    transaction.to_inflight()
    undo(settings, transaction.time, lambda text: None)  # its heartbeat lives: that of the worker which goes on
    assert [one.timestamp for one in settings.load_timeline().pending_writes()] == [transaction.time]
    transaction.abandon()
