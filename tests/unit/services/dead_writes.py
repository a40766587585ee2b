"""Writes that died at each point of their way."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from spark_jobs.core.files.markers import create_marker, read_markers
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.rollback import RequestedRollback
from spark_jobs.core.timeline.results import NamedInstant
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.services.rollback.plan import plan_by_markers
from tests.support.deaths import in_another_process
from tests.support.folder import Folder, Where, file_at
from tests.support.payloads import stored
from tests.unit.core.support import Died, HandClock, complete, context_of, new_table, rows, scope, start

T1, T2 = "20240101000000001", "20240101000000002"
BEFORE = [("a", 1, "one"), ("b", 1, "one")]
PROPERTIES = {"hoodie.write.lock.wait_time_ms": "2000"}
_DIED = 7
"""The exit code of a process that met its death."""


@dataclass
class FailedWrite:
    """A table of one commit, and a delta commit that died after it made a log, a new file group and a marker alone."""

    table: HudiTable
    base: WriteStat
    log: WriteStat
    new: WriteStat

    def settings(self, storage: object = None) -> TransactionSettings:
        found = self.table.refreshed().transaction_settings(PROPERTIES)
        return found if storage is None else replace(found, storage=storage)  # type: ignore[arg-type]

    def data_files(self) -> set[str]:
        base = file_at(self.table.storage, self.table.base_path)
        files = (one.relative_to(base) for one in base.walk())
        return {str(one) for one in files if ".hoodie/" not in str(one) and "metadata" not in one.name}


def write(table: HudiTable, time: str, group: str, *records: tuple[str, int, str]) -> WriteStat:
    handle = CreateHandle(context_of(table, time), scope(), "p", group)
    handle.write(rows(*records, partition="p"))
    (stat,) = handle.close()
    return stat


def failed_write(path: Where) -> FailedWrite:
    table = new_table(path, clock=HandClock(moment=datetime.now(UTC)))
    first = start(table, T1)
    base = write(table, T1, "g", *BEFORE)
    complete(table, first, [base])
    start(table, T2)
    target = AppendTarget(
        partition="p", file_id=base.file_id, base_instant=T1, base_file=base.file_name, log_names=(), next_version=1
    )
    context = context_of(table, T2)
    changes = Changes(stamp(rows(("a", 2, "two"), partition="p"), context, scope(), "p", "g-0"), np.array([False]))
    [log] = append_changes(context, scope(), target, changes, hard_deletes=False)
    new = write(table, T2, "h", ("c", 2, "two"))
    create_marker(table.storage, table.base_path, T2, "p", "never-0_0-1-1_9.parquet", MarkerType.CREATE)
    return FailedWrite(table, base, log, new)


def dies(work: Callable[[], object]) -> bool:
    """Whether work in a process of its own met the storage's death, after which no handler runs."""

    def until_it_dies() -> None:
        try:
            work()
        except Died:
            os._exit(_DIED)

    code = in_another_process(until_it_dies)
    assert code in (0, _DIED)
    return code == _DIED


def planned_by_another(failed: FailedWrite, time: str) -> tuple[Folder, bytes]:
    """The plan file of a rollback of the failed write, and what it would hold."""
    inflight = Instant(T2, Action.DELTA_COMMIT, State.INFLIGHT)
    requests = plan_by_markers(VERSION_6, read_markers(failed.table.storage, failed.table.base_path, T2) or [])
    plan = RequestedRollback(target=NamedInstant.naming(inflight), requests=requests)
    return file_at(failed.table.storage, failed.table.timeline.folder, f"{time}.rollback.requested"), stored(
        plan.payload(failed.table.base_path)
    )
