"""A write whose compaction plan is taken back under it: real Hudi reads the table after our rollback, and ends one."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.services.rollback import execute
from spark_jobs.services.rollback.failed_writes import abandoned_writes
from spark_jobs.services.validation.run import validate
from spark_jobs.write import perform
from tests.faults import local_table as local
from tests.faults.local_table import batch, expected_rows, rows_of
from tests.interop.real_hudi import RealHudi
from tests.interop.tending import assert_hudi_validates
from tests.unit.services.cancelled import beside, compact, logs_of, take_back

pytestmark = pytest.mark.interop

BEFORE = batch(0, 4, "two", 2)
CHANGED = batch(2, 2, "four", 4)
GIVEN = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
}


class Died(Exception):
    """Stands for the end of a process."""


def die(*given: object, **named: object) -> None:
    raise Died


def read(hudi: RealHudi, path: Path) -> list[tuple[object, ...]]:
    """As :func:`rows_of`."""
    found = hudi.read(path)
    names = [RECORD_KEY, PARTITION_PATH, *local.SCHEMA.names]
    return sorted(zip(*(found.column(name).to_pylist() for name in names), strict=True))


def test_hudi_reads_on_after_the_rollback_and_ends_one_that_died(
    tmp_path: Path, real_hudi: RealHudi, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    local.create(path, "MERGE_ON_READ")
    local.write(path, batch(0, 4, "one", 1), "k1")
    local.write(path, BEFORE, "k2")
    plan = compact(path, "schedule")
    with pytest.raises(WriteConflictError):
        beside(path, lambda: take_back(path, plan))
    assert [log for log in logs_of(path) if plan in log] == []
    assert read(real_hudi, path) == expected_rows(BEFORE)

    plan = compact(path, "schedule")
    with monkeypatch.context() as patched:
        patched.setattr(perform, "undo", lambda *given: None)  # its process is gone
        with pytest.raises(WriteConflictError):
            beside(path, lambda: take_back(path, plan))
    settings = HudiTable.open(str(path)).transaction_settings(local.AT_ONCE)
    (dead,) = abandoned_writes(settings, settings.load_timeline())
    with monkeypatch.context() as patched, settings.new_lock():
        patched.setattr(execute, "_execute", die)  # its plan stands on the timeline, and nothing was done
        with pytest.raises(Died):
            execute.roll_back(settings, settings.load_timeline(), dead)
    assert len([log for log in logs_of(path) if plan in log]) == 2
    assert len(settings.load_timeline().pending({Action.ROLLBACK})) == 1
    real_hudi.write(path, CHANGED, "upsert", GIVEN)
    assert [log for log in logs_of(path) if plan in log] == []
    assert read(real_hudi, path) == rows_of(path) == expected_rows(BEFORE, CHANGED)
    assert validate(str(path), deep=True) == []
    assert_hudi_validates(real_hudi, path, "after it ended our rollback")
