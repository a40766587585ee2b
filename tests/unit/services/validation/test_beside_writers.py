"""What others do while a validation runs is no finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.files.markers import create_marker
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.progress import Progress
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.validation.finding import Finding
from spark_jobs.services.validation.run import inspect
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.support.through import Through
from tests.unit.core.support import new_table, next_time, start
from tests.unit.services.by_hand import AT_ONCE as CONF
from tests.unit.services.by_hand import ENGINE
from tests.unit.services.validation.written import change, insert

pytestmark = pytest.mark.unit


class Busy(Through):
    """Somebody acts, once, right after (or before) a folder is listed for the first time."""

    def __init__(self, inner: Storage, folder: str, act: Callable[[], object], *, before: bool = False) -> None:
        super().__init__(inner)
        self.folder, self.act, self.before = folder, act, before
        self.acted = False

    def list(self, path: str) -> list[FileStatus]:
        if path != self.folder or self.acted:
            return self.inner.list(path)
        self.acted = True
        if self.before:
            self.act()
            return self.inner.list(path)
        found = self.inner.list(path)
        self.act()
        return found


@pytest.fixture
def table(root: Folder) -> HudiTable:
    """With a version that cleaning may take."""
    made = new_table(root / "t", clock=SYSTEM_CLOCK)
    insert(made, "a", "b", "c")
    for _ in range(2):
        change(made, "b")
        options = CompactionOptions(base_path=made.base_path, hoodie_conf=CONF)
        run_compaction(options, job_context(engine=ENGINE, lake=root.lake))
    change(made, "c")
    return made


def clean(table: HudiTable) -> None:
    result = run_cleaning(CleanOptions(base_path=table.base_path, hoodie_conf=CONF), job_context(lake=table.lake))
    assert result.extra["deleted_files"] > 0


def findings(table: HudiTable, storage: Busy) -> tuple[Finding, ...]:
    opened = replace(table, storage=storage, lists_storage=True)
    found = inspect(opened, deep=True, overdue_hours=24, progress=Progress.silent("validate")).findings
    assert storage.acted
    return found


@pytest.mark.parametrize("before", [True, False])
def test_a_clean(table: HudiTable, before: bool) -> None:
    assert findings(table, Busy(table.storage, f"{table.base_path}/p", lambda: clean(table), before=before)) == ()


def test_a_clean_that_is_not_done(table: HudiTable) -> None:
    def half() -> None:
        clean(table)
        (done,) = table.refreshed().timeline.completed(Action.CLEAN)
        table.storage.delete(table.timeline.path(done))
        assert table.refreshed().timeline.pending({Action.CLEAN})[0].state is State.INFLIGHT

    assert findings(table, Busy(table.storage, f"{table.base_path}/p", half, before=True)) == ()


def test_a_write_that_begins(table: HudiTable) -> None:
    def begin() -> None:
        time = next_time(table)
        start(table, time)
        create_marker(table.storage, table.base_path, time, "p", f"f_0-1-1_{time}.parquet", MarkerType.CREATE)
        file_at(table.storage, table.base_path, "p", f"f_0-1-1_{time}.parquet").write_bytes(b"half a file")

    assert findings(table, Busy(table.storage, f"{table.base_path}/p", begin, before=True)) == ()
    assert findings(table, Busy(table.storage, f"{table.base_path}/.hoodie/.temp", begin, before=True)) == ()


def test_a_write_that_ends(table: HudiTable) -> None:
    for before in (True, False):
        assert (
            findings(table, Busy(table.storage, f"{table.base_path}/p", lambda: change(table, "a"), before=before))
            == ()
        )
