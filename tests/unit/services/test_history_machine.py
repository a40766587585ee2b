"""Any sequence of writes and of the services that keep a table's history: the rows are those of a plain dictionary,
what is saved stays readable, and a deep validation finds nothing (invariants 1, 4, 5, 6, 7, 8 and 9).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.progress import Progress
from spark_jobs.options import (
    ArchiveOptions,
    CleanOptions,
    JobState,
    RestoreOptions,
    RollbackOptions,
    SavepointMode,
    SavepointOptions,
)
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local

pytestmark = [pytest.mark.unit, pytest.mark.timeout(600)]

QUIET = Progress.silent("test")
OFTEN = {"hoodie.metadata.compact.max.delta.commits": "3"}
Rows = dict[int, tuple[str, int]]


class History(RuleBasedStateMachine):
    """``states`` are the rows as of each commit of the active timeline, by id: (value, ts)."""

    table_type: ClassVar[str]

    @initialize()
    def create(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="history-"))
        self.path = self.folder / "t"
        local.create(self.path, self.table_type)
        self.states: dict[str, Rows] = {}
        self.saved: dict[str, Rows] = {}
        self.writes = 0
        self._write(0, 8)

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def timeline(self):  # type: ignore[no-untyped-def]
        return HudiTable.open(str(self.path)).timeline

    @property
    def now(self) -> Rows:
        return self.states[max(self.states)] if self.states else {}

    def _note(self, rows: Rows) -> None:
        """Commits that are new have these rows; those that are gone, none."""
        found = [one.timestamp for one in self.timeline.completed_commits()]
        self.states = {time: self.states.get(time, rows) for time in found}

    def _write(self, first: int, count: int) -> None:
        self.writes += 1
        value = f"v{self.writes}"
        local.write(self.path, local.batch(first, count, value, self.writes), value)
        self._note({**self.now, **dict.fromkeys(range(first, first + count), (value, self.writes))})

    @rule(first=st.integers(0, 7), count=st.integers(1, 8))
    def update(self, first: int, count: int) -> None:
        first = min(first, len(self.now) - 1)
        self._write(first, min(count, len(self.now) - first))

    @rule(count=st.integers(1, 4))
    def insert(self, count: int) -> None:
        self._write(max(self.now) + 1, count)

    @rule()
    def rewrite(self) -> None:
        rows = self.now
        (local.compact if self.table_type == "MERGE_ON_READ" else local.cluster)(self.path)
        self._note(rows)

    @rule(retained=st.integers(1, 3), by_versions=st.booleans())
    def clean(self, retained: int, by_versions: bool) -> None:
        policy = "KEEP_LATEST_FILE_VERSIONS" if by_versions else "KEEP_LATEST_COMMITS"
        count = {
            "hoodie.cleaner.commits.retained": str(retained),
            "hoodie.cleaner.fileversions.retained": str(retained),
        }
        options = CleanOptions(base_path=str(self.path), hoodie_conf={"hoodie.cleaner.policy": policy, **count})
        run_cleaning(options, QUIET)

    @rule(keep=st.integers(1, 3))
    def archive(self, keep: int) -> None:
        settings_ = HudiTable.open(str(self.path)).transaction_settings(OFTEN)
        maintain_metadata_table(settings_, OFTEN, pytest.fail)
        limits = {"hoodie.keep.min.commits": str(keep), "hoodie.keep.max.commits": str(keep + 1)}
        more = {"hoodie.cleaner.commits.retained": "1", "hoodie.compact.inline.max.delta.commits": "1"}
        run_archival(ArchiveOptions(base_path=str(self.path), hoodie_conf={**limits, **more}), QUIET)
        self._note(self.now)

    @rule()
    def save(self) -> None:
        last = max(self.states)
        run_savepoint(SavepointOptions(base_path=str(self.path), instant_time=last), QUIET)
        self.saved[last] = self.now

    @precondition(lambda self: self.saved)
    @rule(which=st.integers(0, 9))
    def forget(self, which: int) -> None:
        gone = sorted(self.saved)[which % len(self.saved)]
        options = SavepointOptions(base_path=str(self.path), mode=SavepointMode.DELETE, instant_time=gone)
        assert run_savepoint(options, QUIET).state is JobState.COMPLETED
        del self.saved[gone]

    @precondition(lambda self: len(self.states) > 1)
    @rule()
    def roll_back_last(self) -> None:
        last = max(self.states)
        try:
            run_rollback(RollbackOptions(base_path=str(self.path), instant_time=last), QUIET)
        except ConfigError:  # it is saved, or what was there before it was cleaned
            return
        assert last not in self.saved
        self._note({})
        assert last not in self.states

    @rule()
    def die_writing(self) -> None:
        child = os.fork()
        if child == 0:
            try:
                local.begin_and_leave(self.path, local.batch(0, 4, "never", 99))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        run_rollback(RollbackOptions(base_path=str(self.path)), QUIET)
        assert not self.timeline.pending_writes()

    @rule(which=st.integers(0, 9))
    def restore(self, which: int) -> None:
        goal = sorted(self.states)[which % len(self.states)]
        options = RestoreOptions(base_path=str(self.path), instant_time=goal, verify="rows")
        try:
            run_restore(options, QUIET)
        except ConfigError:  # a later savepoint, or it was cleaned
            return
        assert all(one <= goal for one in self.saved)
        self._note({})
        assert max(self.states) == goal

    @invariant()
    def rows_are_right(self) -> None:
        if not hasattr(self, "states"):
            return
        expected = [
            (str(one), local.PARTITIONS[one % 2], one, local.PARTITIONS[one % 2], *rest)
            for one, rest in self.now.items()
        ]
        assert local.rows_of(self.path) == sorted(expected)
        for instant, rows in self.saved.items():
            found = HudiTable.open(str(self.path)).scan(columns=["id", "v", "ts"], as_of=instant).to_arrow().to_pylist()
            assert {row["id"]: (row["v"], row["ts"]) for row in found} == rows, f"as of savepoint {instant}"

    @invariant()
    def it_is_sound(self) -> None:
        if hasattr(self, "states"):
            assert [str(one) for one in validate(str(self.path), deep=True)] == []
            assert all(one.is_completed for one in self.timeline.instants)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_any_history(table_type: str) -> None:
    machine = type(f"History_{table_type}", (History,), {"table_type": table_type})
    checked = settings(
        max_examples=int(os.environ.get("PYHUDI_HISTORY_EXAMPLES", "4")),
        stateful_step_count=14,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(machine, settings=checked)
