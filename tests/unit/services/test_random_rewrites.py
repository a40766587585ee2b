"""Random sequences of writes and services on one table, whose rows are those of a dictionary after every step, and of
which a deep validation finds nothing wrong (invariants 1, 2, 4, 5, 6 and 9 of docs/architecture.md).
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.timeline.instant import Action
from spark_jobs.services.validation.run import validate
from tests.unit.core.support import contents, new_table
from tests.unit.services.test_log_compaction import log_compact
from tests.unit.services.test_planned_runs import cluster, compact
from tests.unit.services.test_runs import change, clean, insert

pytestmark = pytest.mark.unit

KEYS = st.sampled_from("abcdef")


class Rewrites(RuleBasedStateMachine):
    """Of a MERGE_ON_READ table; ``groups`` knows in which file group a key was put by the last insert of it."""

    @initialize()
    def make(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pyhudi-rewrites-"))
        self.table = new_table(str(self.folder / "t"), clock=SYSTEM_CLOCK)
        self.rows: dict[str, int] = {}
        self.ordering = 1
        for keys in ("ab", "cd"):
            insert(self.table, *keys)
            self.rows.update(dict.fromkeys(keys, 1))

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def pending(self, action: Action) -> list[str]:
        return [one.timestamp for one in self.table.refreshed().timeline.pending({action})]

    @precondition(lambda self: not self.pending(Action.REPLACE_COMMIT))
    @rule(key=KEYS, deleted=st.booleans())
    def change_a_record(self, key: str, deleted: bool) -> None:
        group = self.group_of(key)
        if group is None:
            return
        self.ordering += 1
        change(self.table, [(key, deleted)], self.ordering, group=group)
        if deleted:
            self.rows.pop(key, None)
        else:
            self.rows[key] = self.ordering

    @rule(key=KEYS)
    def insert_a_record(self, key: str) -> None:
        if self.group_of(key) is None:
            insert(self.table, key)
            self.rows[key] = 1

    @rule(part=st.booleans())
    def compact(self, part: bool) -> None:
        compact(self.table, mode="schedule")
        compact(self.table, mode="execute", max_bytes=8000 if part else None)

    @rule()
    def plan_a_compaction(self) -> None:
        compact(self.table, mode="schedule")

    @precondition(lambda self: not self.pending(Action.COMPACTION))
    @rule()
    def compact_logs(self) -> None:
        log_compact(self.table)

    @rule(part=st.booleans())
    def cluster(self, part: bool) -> None:
        cluster(self.table, max_bytes=8000 if part else None)

    @rule()
    def take_a_clustering_back(self) -> None:
        for instant in self.pending(Action.REPLACE_COMMIT):
            cluster(self.table, mode="cancel", instant_time=instant)

    @rule()
    def clean(self) -> None:
        clean(self.table)

    def group_of(self, key: str) -> str | None:
        """By the base files: a key may be deleted in the logs, and keeps its place."""
        rows = self.table.refreshed().scan(query="read_optimized").to_arrow().to_pylist()
        names = [str(row["_hoodie_file_name"]) for row in rows if row["id"] == key]
        return names[0].partition("_")[0] if names else None

    @invariant()
    def rows_are_those_of_the_dictionary(self) -> None:
        assert {key: ordering for key, ordering, _ in contents(self.table)} == self.rows
        wrong = [one for one in validate(self.table.base_path, deep=True) if one.is_error]
        assert not wrong


TestRewrites = Rewrites.TestCase
TestRewrites.settings = settings(
    max_examples=12, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
)
