"""Any sequence of writes and of all services on one table: after every step the rows are those of a plain dictionary,
what is saved stays readable, and a deep validation finds nothing (invariants 1, 2, 4, 5, 6, 7, 8 and 9 of
docs/architecture.md).

The same steps every time. For a longer run of new ones: ``make model EXAMPLES=20 STEPS=15``; what fails there goes into
:data:`KEPT` as it is told.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.options import (
    ArchiveOptions,
    CleanOptions,
    ClusteringOptions,
    CompactionOptions,
    IndexingMode,
    IndexingOptions,
    JobState,
    RestoreOptions,
    RollbackOptions,
    SavepointMode,
    SavepointOptions,
)
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.indexing.job import run_indexing
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = [pytest.mark.unit, pytest.mark.timeout(3600)]

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
EXAMPLES = int(os.environ.get("PYHUDI_MODEL_EXAMPLES", "0"))
STEPS = int(os.environ.get("PYHUDI_MODEL_STEPS", "14"))
INDEXED = {
    "hoodie.metadata.index.async": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "1",
    "hoodie.metadata.record.index.max.filegroup.count": "1",
    "hoodie.metadata.compact.max.delta.commits": "3",
    "hoodie.log.compaction.blocks.threshold": "1",
}
PART_BYTES = 8000
"""More than one piece of a plan has, less than two."""
Rows = dict[int, tuple[str, int]]
MODES = st.sampled_from(["schedule", "execute", "scheduleAndExecute"])
WHICH = st.integers(0, 9)
SOME = st.lists(st.integers(0, 15), min_size=1, max_size=5)


def records(ids: Iterable[int], value: str, ts: int) -> pa.Table:
    rows = [{"id": one, "p": local.PARTITIONS[one % 2], "v": value, "ts": ts} for one in ids]
    return pa.Table.from_pylist(rows, schema=local.SCHEMA)


class TableMachine(RuleBasedStateMachine):
    """``states`` are the rows as of each commit of the active timeline, by id: (value, ts)."""

    table_type: ClassVar[str]
    root: ClassVar[Folder]
    numbers: ClassVar[Iterator[int]]

    @initialize()
    def create(self) -> None:
        self.path = self.root / f"t{next(self.numbers)}"
        local.create(self.path, self.table_type)
        self.states: dict[str, Rows] = {}
        self.saved: dict[str, Rows] = {}
        self.writes = self.fresh = 0
        self.insert(8)

    def teardown(self) -> None:
        self.path.remove()

    @property
    def timeline(self) -> ActiveTimeline:
        return self.path.table().timeline

    @property
    def now(self) -> Rows:
        return self.states[max(self.states)] if self.states else {}

    def pending(self, *actions: Action) -> list[str]:
        return [one.timestamp for one in self.timeline.pending(set(actions))]

    def options(self, kind: Callable[..., Any], conf: dict[str, str] | None = None, **more: Any) -> Any:
        return kind(base_path=str(self.path), hoodie_conf={**local.AT_ONCE, **(conf or {})}, **more)

    def _note(self) -> None:
        """Commits that are new rewrote what was there before them; those that are gone have no rows."""
        found = sorted(one.timestamp for one in self.timeline.completed_commits())
        for time in found:
            if time not in self.states:
                self.states[time] = self.states[max(one for one in self.states if one < time)]
        self.states = {time: self.states[time] for time in found}

    def _write(self, work: Callable[[str], str], rows: Rows) -> None:
        """A write, which may be refused where a plan is in its way."""
        try:
            time = work(f"write {self.writes}")
        except WriteConflictError:
            assert self.pending(Action.REPLACE_COMMIT, Action.COMPACTION)
            return
        self.states[time] = rows

    def _new(self, ids: list[int]) -> tuple[pa.Table, Rows]:
        self.writes += 1
        value = f"v{self.writes}"
        return records(ids, value, self.writes), dict.fromkeys(ids, (value, self.writes))

    def _known(self, places: list[int]) -> list[int]:
        ids = sorted(self.now)
        return sorted({ids[one % len(ids)] for one in places})

    @precondition(lambda self: self.now)
    @rule(places=SOME)
    def update(self, places: list[int]) -> None:
        batch, rows = self._new(self._known(places))
        self._write(lambda key: local.write(self.path, batch, key), {**self.now, **rows})

    @rule(count=st.integers(1, 4))
    def insert(self, count: int) -> None:
        batch, rows = self._new([*range(self.fresh, self.fresh + count)])
        self.fresh += count
        self._write(lambda key: local.write(self.path, batch, key), {**self.now, **rows})

    @precondition(lambda self: self.now)
    @rule(places=SOME)
    def delete(self, places: list[int]) -> None:
        batch, gone = self._new(self._known(places))
        kept = {one: row for one, row in self.now.items() if one not in gone}
        self._write(lambda key: local.delete(self.path, batch, key), kept)

    @rule(which=st.integers(0, 1), count=st.integers(0, 3))
    def overwrite(self, which: int, count: int) -> None:
        """With no rows, the deletion of the partition."""
        first = self.fresh + (self.fresh + which) % 2
        batch, rows = self._new([*range(first, first + 2 * count, 2)])
        self.fresh = first + 2 * count
        partition = local.PARTITIONS[which]
        kept = {one: row for one, row in self.now.items() if one % 2 != which}
        self._write(lambda key: local.overwrite(self.path, batch, [partition], key), {**kept, **rows})

    @precondition(lambda self: self.table_type == MOR)
    @rule(mode=MODES, part=st.booleans())
    def compact(self, mode: str, part: bool) -> None:
        limit = PART_BYTES if part and mode == "execute" else None
        run_compaction(self.options(CompactionOptions, mode=mode, max_bytes=limit), job_context(lake=self.path.lake))
        self._note()

    @precondition(lambda self: self.table_type == MOR and not self.pending(Action.COMPACTION))
    @rule()
    def compact_logs(self) -> None:
        run_compaction(self.options(CompactionOptions, log_compaction=True), job_context(lake=self.path.lake))
        self._note()

    @rule(mode=MODES, part=st.booleans())
    def cluster(self, mode: str, part: bool) -> None:
        limit = PART_BYTES if part and mode == "execute" else None
        run_clustering(self.options(ClusteringOptions, mode=mode, max_bytes=limit), job_context(lake=self.path.lake))
        self._note()

    @precondition(lambda self: self.pending(Action.REPLACE_COMMIT))
    @rule()
    def take_a_clustering_back(self) -> None:
        for one in self.pending(Action.REPLACE_COMMIT):
            options = self.options(ClusteringOptions, mode="cancel", instant_time=one)
            run_clustering(options, job_context(lake=self.path.lake))

    @rule(retained=st.integers(1, 3), by_versions=st.booleans(), part=st.booleans())
    def clean(self, retained: int, by_versions: bool, part: bool = False) -> None:
        policy = "KEEP_LATEST_FILE_VERSIONS" if by_versions else "KEEP_LATEST_COMMITS"
        conf = {
            "hoodie.cleaner.policy": policy,
            "hoodie.cleaner.commits.retained": str(retained),
            "hoodie.cleaner.fileversions.retained": str(retained),
        }
        run_cleaning(
            self.options(CleanOptions, conf, max_bytes=PART_BYTES if part else None), job_context(lake=self.path.lake)
        )

    @rule(keep=st.integers(1, 3))
    def archive(self, keep: int) -> None:
        maintain_metadata_table(self.path.table().transaction_settings(local.AT_ONCE), local.AT_ONCE, pytest.fail)
        limits = {"hoodie.keep.min.commits": str(keep), "hoodie.keep.max.commits": str(keep + 1)}
        run_archival(self.options(ArchiveOptions, limits), job_context(lake=self.path.lake))
        self._note()

    @precondition(lambda self: self.states)
    @rule()
    def save(self) -> None:
        last = max(self.states)
        run_savepoint(self.options(SavepointOptions, instant_time=last), job_context(lake=self.path.lake))
        self.saved[last] = self.now

    @precondition(lambda self: self.saved)
    @rule(which=WHICH)
    def forget(self, which: int) -> None:
        gone = sorted(self.saved)[which % len(self.saved)]
        options = self.options(SavepointOptions, mode=SavepointMode.DELETE, instant_time=gone)
        assert run_savepoint(options, job_context(lake=self.path.lake)).state is JobState.COMPLETED
        del self.saved[gone]

    @precondition(lambda self: len(self.states) > 1)
    @rule()
    def roll_back_last(self) -> None:
        last = max(self.states)
        try:
            run_rollback(self.options(RollbackOptions, instant_time=last), job_context(lake=self.path.lake))
        except (ConfigError, WriteConflictError):  # it is saved, what was there before was cleaned; a plan builds on it
            return
        assert last not in self.saved
        self._note()
        assert last not in self.states

    @precondition(lambda self: not self.pending(Action.REPLACE_COMMIT))  # which refuses the write before it dies
    @rule()
    def die_writing(self) -> None:
        local.die_writing(self.path, local.batch(0, 4, "never", 99))
        run_rollback(self.options(RollbackOptions), job_context(lake=self.path.lake))
        assert not self.pending(Action.COMMIT, Action.DELTA_COMMIT)

    @precondition(lambda self: self.states)
    @rule(which=WHICH)
    def restore(self, which: int) -> None:
        goal = sorted(self.states)[which % len(self.states)]
        try:
            run_restore(
                self.options(RestoreOptions, instant_time=goal, verify="rows"), job_context(lake=self.path.lake)
            )
        except ConfigError:  # a later savepoint, or it was cleaned
            return
        except WriteConflictError:
            assert self.pending(Action.CLEAN)
            return
        assert all(one <= goal for one in self.saved)
        self._note()
        assert max(self.states) == goal

    @rule(make=st.booleans())
    def index(self, make: bool) -> None:
        if not self.path.table().config.metadata_partitions:  # the last restore left it to the next write
            return
        mode = IndexingMode.SCHEDULE_AND_EXECUTE if make else IndexingMode.DROP_INDEX
        run_indexing(
            self.options(IndexingOptions, mode=mode, index_types=("RECORD_INDEX",)), job_context(lake=self.path.lake)
        )

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
            found = self.path.table().scan(columns=["id", "v", "ts"], as_of=instant).to_arrow().to_pylist()
            assert {row["id"]: (row["v"], row["ts"]) for row in found} == rows, f"as of savepoint {instant}"

    @invariant()
    def it_is_sound(self) -> None:
        if hasattr(self, "states"):
            assert [str(one) for one in validate(str(self.path), deep=True, lake=self.path.lake)] == []


Steps = Callable[[TableMachine], list[Callable[[], None]]]


def every_rule(machine: TableMachine) -> list[Callable[[], None]]:
    rewrites: list[Callable[[], None]] = [
        lambda: machine.compact("schedule", False),
        lambda: machine.update([0, 3]),
        lambda: machine.compact("execute", True),
        lambda: machine.update([1]),
        lambda: machine.compact("execute", False),
        lambda: machine.update([2, 3]),
        lambda: machine.compact_logs(),
    ]
    return [
        lambda: machine.update([0, 1, 5]),
        lambda: machine.delete([2, 3]),
        lambda: machine.insert(3),
        lambda: machine.index(True),
        *(rewrites if machine.table_type == MOR else []),
        lambda: machine.save(),
        lambda: machine.cluster("schedule", False),
        lambda: machine.update([0]),
        lambda: machine.insert(2),
        lambda: machine.take_a_clustering_back(),
        lambda: machine.cluster("scheduleAndExecute", False),
        lambda: machine.overwrite(0, 2),
        lambda: machine.clean(1, False, part=True),
        lambda: machine.insert(1),
        lambda: machine.clean(1, False),
        lambda: machine.archive(1),
        lambda: machine.roll_back_last(),
        lambda: machine.die_writing(),
        lambda: machine.update([4, 5]),
        lambda: machine.restore(0),
        lambda: machine.forget(0),
        lambda: machine.overwrite(1, 0),
        lambda: machine.clean(1, True),
        lambda: machine.index(True),
        lambda: machine.insert(1),
        lambda: machine.index(False),
        lambda: machine.archive(1),
    ]


def index_then_roll_back(machine: TableMachine) -> list[Callable[[], None]]:
    """The index was made when the write was completed: it has to know the keys that the write removed."""
    return [
        lambda: machine.delete([1, 4]),
        lambda: machine.index(True),
        lambda: machine.roll_back_last(),
        lambda: machine.insert(2),
        lambda: machine.index(True),
        lambda: machine.die_writing(),
        lambda: machine.roll_back_last(),
    ]


def saved_inputs(machine: TableMachine) -> list[Callable[[], None]]:
    """Of a clustering of both partitions the inputs are saved, the output of one partition is replaced and cleaned."""
    return [
        lambda: machine.insert(4),
        lambda: machine.save(),
        lambda: machine.cluster("scheduleAndExecute", False),
        lambda: machine.overwrite(0, 2),
        lambda: machine.insert(1),
        lambda: machine.insert(1),
        lambda: machine.clean(1, False),
    ]


KEPT: dict[str, tuple[str, Steps]] = {
    "every rule of MOR": (MOR, every_rule),
    "every rule of COW": (COW, every_rule),
    "rollback of what an index was made of": (COW, index_then_roll_back),
    "clustering whose inputs are saved": (COW, saved_inputs),
}
"""Steps that are always taken: (type of the table, steps)."""


@pytest.fixture(autouse=True)
def indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers that keep the index where the job made it."""
    for key, value in INDEXED.items():
        monkeypatch.setitem(local.AT_ONCE, key, value)


def machine_of(table_type: str, root: Folder) -> type[TableMachine]:
    own = {"table_type": table_type, "root": root, "numbers": count()}
    return type(f"Machine_{table_type}", (TableMachine,), own)


@pytest.mark.parametrize("name", KEPT)
def test_kept_steps(root: Folder, name: str) -> None:
    table_type, steps = KEPT[name]
    machine = machine_of(table_type, root)()
    machine.create()
    try:
        for number, step in enumerate(steps(machine)):
            try:
                step()
                machine.rows_are_right()
                machine.it_is_sound()
            except Exception as error:
                raise AssertionError(f"step {number} of {name}: {error}") from error
    finally:
        machine.teardown()


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_any_steps(root: Folder, table_type: str) -> None:
    wanted: dict[str, Any] = {"max_examples": 4, "phases": (Phase.generate,)}
    make: Any = machine_of(table_type, root)
    if EXAMPLES:
        wanted = {"max_examples": EXAMPLES, "print_blob": True}
    else:
        make = seed(table_type)(make)
    run_state_machine_as_test(
        make,
        settings=settings(
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            **wanted,
        ),
    )
