"""Hive sync by the driver of services: shown, done, and nothing left to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.table import HudiTable
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.in_steps import run_in_steps
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.sync import HiveSync
from spark_jobs.options import JobState
from tests.faults import local_table as local
from tests.unit.hive.in_memory import InMemory

pytestmark = pytest.mark.unit


def test_a_table_is_registered_once(tmp_path: Path) -> None:
    local.create(tmp_path / "t", "COPY_ON_WRITE")
    metastore, progress = InMemory(), Progress.silent("hive_sync")
    service = HiveSync(config=SyncConfig(), metastore=metastore, progress=progress)

    none = run_in_steps(service, HudiTable.open(str(tmp_path / "t")), progress, dry_run=False)
    assert none.state is JobState.NOTHING_TO_DO
    assert (none.reason or "").endswith("has no completed commit yet")

    instant = local.write(tmp_path / "t", local.batch(0, 4, "x", 1), "k")
    table = HudiTable.open(str(tmp_path / "t"))
    shown = run_in_steps(service, table, progress, dry_run=True)
    assert (shown.state, metastore.made) == (JobState.DRY_RUN, {})
    assert shown.plan is not None
    assert [one["event"] for one in shown.plan["events"]] == ["create table", "add partitions", "set properties"]

    done = run_in_steps(service, table, progress, dry_run=False)
    assert (done.state, done.extra["tables_created"], done.extra["partitions_added"]) == (JobState.COMPLETED, 1, 2)
    assert done.extra["synced_until"] == instant
    for dry_run in (True, False):
        again = run_in_steps(service, table, progress, dry_run=dry_run)
        assert (again.state, again.reason) == (
            JobState.NOTHING_TO_DO,
            f"default.t is in sync with instant {instant}",
        )
        assert again.extra == {**dict.fromkeys(done.extra, 0), **shown.extra}
