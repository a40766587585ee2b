"""Each operation on each kind of table with each index against a dict (Hypothesis, stateful), services in between.

The same steps every time. For a longer run of new ones: ``make model EXAMPLES=20 STEPS=15``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, currently_in_test_context, note, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pyspark.sql import SparkSession

from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.validation.run import validate
from spark_jobs.write.ingest import ingest
from tests.spark.tables import COW, MOR, Jobs, Row, SparkJobs, ordered, row
from tests.spark.write.model import Counts, Kind, TableModel

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

EXAMPLES = int(os.environ.get("PYHUDI_MODEL_EXAMPLES", "0"))
STEPS = int(os.environ.get("PYHUDI_MODEL_STEPS", "5"))
EVENT_TIME = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}
PARTITIONS = "abc"
INDEXES: dict[str, dict[str, str]] = {
    "SIMPLE": {},
    "BLOOM": {},
    "BUCKET": {"hoodie.bucket.index.num.buckets": "2"},
    "GLOBAL_SIMPLE": {"hoodie.simple.index.update.partition.path": "true"},
    "GLOBAL_BLOOM": {"hoodie.bloom.index.update.partition.path": "false"},
    "RECORD_INDEX": {
        "hoodie.record.index.update.partition.path": "true",
        "hoodie.metadata.record.index.enable": "true",
    },
}
MOVES = ("GLOBAL_SIMPLE", "RECORD_INDEX")

CHANGE = st.tuples(
    st.integers(0, 11), st.sampled_from(PARTITIONS), st.sampled_from(["newer", "tie", "delete", "twice", "late"])
)
CHANGES = st.lists(CHANGE, min_size=1, max_size=6, unique_by=lambda one: one[0])
NEW = st.lists(st.sampled_from(PARTITIONS), min_size=1, max_size=4)


class TableMachine(RuleBasedStateMachine):
    """One table and its model; made anew for every example."""

    def __init__(self, jobs: Jobs, kind: Kind, *, clusters: bool) -> None:
        super().__init__()
        self.jobs, self.kind, self.clusters = jobs, kind, clusters
        self.model = TableModel(kind)
        self.step = 1
        self.fresh = 100

    @initialize(op=st.sampled_from(["bulk_insert", "upsert", "insert"]), partitions=NEW)
    def begin(self, op: str, partitions: list[str]) -> None:
        batch = [row(key, partitions[key % len(partitions)], "first", 1) for key in range(8)]
        self._done(self.jobs.write(op, batch), self.model.insert(batch))

    @rule(changes=CHANGES)
    def upsert(self, changes: list[tuple[int, str, str]]) -> None:
        batch: list[Row] = []
        for key, partition, what in changes:
            batch += self._changed(key, partition, what)
        if not batch:
            return
        self._done(self.jobs.write("upsert", batch), self.model.upsert(batch))

    @rule(op=st.sampled_from(["insert", "bulk_insert"]), partitions=NEW)
    def insert(self, op: str, partitions: list[str]) -> None:
        batch = self._new(partitions)
        self._done(self.jobs.write(op, batch), self.model.insert(batch))

    @rule(keys=st.lists(st.tuples(st.integers(0, 13), st.sampled_from(PARTITIONS)), min_size=1, max_size=5))
    def delete(self, keys: list[tuple[int, str]]) -> None:
        batch = [row(key, partition, None, self.step) for key, partition in keys]
        self._done(self.jobs.write("delete", batch), self.model.delete(batch))

    @rule(partitions=NEW, keeps=st.booleans())
    def insert_overwrite(self, partitions: list[str], keeps: bool) -> None:
        batch = self._new(partitions)
        touched = {self.model.place(one) for one in batch}
        if keeps:  # some of the keys that are there already
            stays = [one for at, one in self.model.places.values() if at in touched and self.model.place(one) == at]
            batch += [{**one, "v": f"kept {self.step}", "ts": self.step} for one in stays[:2]]
        self._done(self.jobs.write("insert_overwrite", batch), self.model.overwrite(batch, touched))

    @rule(partitions=NEW)
    def insert_overwrite_table(self, partitions: list[str]) -> None:
        batch = self._new(partitions)
        counts = self.model.overwrite(batch, self.model.partitions())
        self._done(self.jobs.write("insert_overwrite_table", batch), counts)

    @precondition(lambda self: self.kind.partitioned and self.model.places)
    @rule(which=st.integers(0, 2))
    def delete_partition(self, which: int) -> None:
        there = sorted(self.model.partitions())
        partition = there[which % len(there)]
        conf = {
            **dict(self.jobs.options("upsert", []).hoodie_conf),
            "hoodie.datasource.write.partitions.to.delete": partition,
        }
        options = IngestOptions(
            base_path=str(self.jobs.path), op=Operation.DELETE_PARTITION, hoodie_conf=tuple(conf.items())
        )
        result = ingest(self.jobs.spark, options, Progress("test"))
        self.model.drop({partition})
        self._done(result, Counts(0, 0, 0))

    @precondition(lambda self: self.kind.merge_on_read)
    @rule()
    def compact(self) -> None:
        if self.jobs.compact().state is JobState.COMPLETED:
            self.model.compacted()

    @precondition(lambda self: self.clusters)
    @rule()
    def cluster(self) -> None:
        self.jobs.cluster()

    @rule()
    def clean(self) -> None:
        self.jobs.clean()

    @invariant()
    def holds_the_same(self) -> None:
        if not self.jobs.path.exists():
            return
        listed = HudiTable.open(str(self.jobs.path))
        found = stored(listed)
        assert found == ordered(self.model.rows())
        keys = [(one["at"], one["id"]) for one in found]
        scope = [key for _, key in keys] if self.kind.is_global else keys
        assert len(set(scope)) == len(scope), "invariant 2: a key is in one file group of its scope"
        on_storage = HudiTable.open(str(self.jobs.path), lists_storage=True)
        assert listed.config.metadata_partitions
        assert listed.file_slices() == on_storage.file_slices(), "invariant 9: the metadata table lists what is there"

    def teardown(self) -> None:
        if self.jobs.path.exists():
            assert validate(str(self.jobs.path), deep=True) == []
            shutil.rmtree(self.jobs.path)

    def _changed(self, key: int, partition: str, what: str) -> list[Row]:
        """Records for a key: that it is new to the table is as good."""
        scoped = self.model.scoped(row(key, partition))
        if scoped in self.model.ghosts and self.kind.is_global and not self.kind.moves:
            return []  # it would go where a base file may still have its key
        at = self.model.places.get(scoped)
        before = at[1]["ts"] if at else 0
        value = f"{what} {self.step}"
        if what == "delete":
            return [row(key, partition, None, self.step, deleted=True)]
        if what == "twice":
            return [row(key, partition, value, self.step), row(key, partition, "the older of two", self.step - 1)]
        if what == "tie" and before:
            return [row(key, partition, value, before)]
        # where what is stored may be in a log, a late record wins or loses by the file that it meets
        if what == "late" and before and (self.kind.event_time or not self.kind.merge_on_read):
            return [row(key, partition, value, before - 1)]
        return [row(key, partition, value, self.step)]

    def _new(self, partitions: list[str]) -> list[Row]:
        begin, self.fresh = self.fresh, self.fresh + len(partitions)
        return [row(begin + n, p, f"new {self.step}", self.step) for n, p in enumerate(partitions)]

    def _done(self, result: JobResult, counts: Counts) -> None:
        if currently_in_test_context():
            note(f"{result.extra.get('operation')} -> {result.inserts}, {result.updates}, {result.deletes}")
        assert result.state is JobState.COMPLETED
        if counts.inserts is not None:
            assert Counts(result.inserts, result.updates, result.deletes) == counts
        self.step += 1


def stored(table: HudiTable) -> list[Row]:
    rows = table.scan().to_arrow()
    assert rows.column(RECORD_KEY).to_pylist() == [str(key) for key in rows.column("id").to_pylist()]
    names = [PARTITION_PATH, "id", "p", "v", "ts"]
    return ordered(rows.select(names).rename_columns(["at", *names[1:]]).to_pylist())


def every_operation(machine: TableMachine) -> None:
    """Each operation and service once, in the words in which Hypothesis tells its steps."""
    machine.begin(op="bulk_insert", partitions=["a", "b"])
    machine.holds_the_same()
    steps: list[Callable[[], None]] = [
        lambda: machine.upsert(
            changes=[(0, "a", "twice"), (1, "b", "delete"), (2, "b", "newer"), (3, "b", "tie"), (9, "c", "newer")]
        ),
        lambda: machine.insert(op="insert", partitions=["a", "c"]),
        lambda: machine.delete(keys=[(4, "a"), (5, "a"), (77, "b")]),
        lambda: machine.upsert(changes=[(0, "b", "late"), (4, "a", "newer"), (5, "b", "newer"), (6, "a", "late")]),
        lambda: machine.compact() if machine.kind.merge_on_read else machine.clean(),
        lambda: machine.insert_overwrite(partitions=["a"], keeps=True),
        lambda: machine.cluster() if machine.clusters else machine.clean(),
        lambda: machine.delete_partition(which=1) if machine.kind.partitioned else machine.clean(),
        lambda: machine.insert_overwrite_table(partitions=["b", "c"]),
        lambda: machine.upsert(changes=[(100, "a", "newer"), (7, "c", "newer")]),
    ]
    for step in steps:
        step()
        machine.holds_the_same()
    machine.teardown()


def run(make: Callable[[], TableMachine], name: str) -> None:
    wanted: dict[str, Any] = {"max_examples": 2, "derandomize": True, "phases": (Phase.generate,)}
    if EXAMPLES:
        wanted = {"max_examples": EXAMPLES, "phases": (Phase.generate, Phase.shrink)}
    else:
        make = seed(name)(make)
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


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("index", [*INDEXES, "SIMPLE, flat"])
def test_a_table_is_a_dict(spark: SparkSession, tmp_path: Path, index: str, table_type: str) -> None:
    index, _, flat = index.partition(", ")
    event_time = bool(flat) or (list(INDEXES).index(index) + (table_type == MOR)) % 2 == 0
    kind = Kind(
        merge_on_read=table_type == MOR,
        partitioned=not flat,
        is_global=index in ("GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX"),
        moves=index in MOVES,
        event_time=event_time,
        by_bucket=index == "BUCKET",
    )
    partitions = () if flat else ("p",)
    conf = {"hoodie.index.type": index, **INDEXES[index], **(EVENT_TIME if event_time else {})}
    by = SparkJobs if index in ("BLOOM", "GLOBAL_SIMPLE") else Jobs
    numbers = iter(range(1_000_000))

    def make() -> TableMachine:
        path = tmp_path / f"t{next(numbers)}"
        jobs = by(spark=spark, path=path, table_type=table_type, partitions=partitions, conf=conf, local_services=True)
        return TableMachine(jobs, kind, clusters=index != "BUCKET")

    if not EXAMPLES:
        every_operation(make())
    run(make, f"{index} {table_type} {flat}")
