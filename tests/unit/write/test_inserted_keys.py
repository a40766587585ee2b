"""Two writers that insert one key at the same time: the one that is published second is refused, whatever the index."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.keygen.virtual import virtual_keys_of
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.schema.reconcile import WriterSchema
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.transaction.transaction import Transaction, begin
from spark_jobs.engine.progress import Progress
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobState
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.rollback.failed_writes import undo
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.write import inserted_keys
from spark_jobs.write.config import resolve
from spark_jobs.write.inserted_keys import InsertedKeys
from spark_jobs.write.overwrite import refuse_other_writers
from spark_jobs.write.publish import Written, publish
from spark_jobs.write.stored_schema import StoredSchema
from tests.faults.faulty_storage import FaultyStorage
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.support.locks import is_locked
from tests.unit.core.support import AVRO, complete, contents, context_of, new_table, rows, scope

pytestmark = pytest.mark.unit

INDEXES = ("SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX")
GLOBAL = INDEXES[2:]


@pytest.fixture(params=[False, True], ids=["COW", "MOR"])
def table(root: Folder, request: pytest.FixtureRequest) -> HudiTable:
    return new_table(root / "t", merge_on_read=request.param, clock=SYSTEM_CLOCK)


@dataclass
class Writer:
    """A write that began, and looked its keys up."""

    table: HudiTable
    transaction: Transaction
    placed_by: ActiveTimeline
    conf: dict[str, str]
    operation: Operation = Operation.UPSERT

    @staticmethod
    def begin(table: HudiTable, index: str = "SIMPLE", **conf: str) -> Writer:
        action = Action.DELTA_COMMIT if table.config.is_merge_on_read else Action.COMMIT
        transaction = begin(table.transaction_settings({}), action)
        assert transaction is not None
        transaction.to_inflight()
        now = table.refreshed()
        return Writer(now, transaction, now.timeline, {"hoodie.index.type": index, **conf})

    def write(self, *keys: str, partition: str = "a", bloom: bool = True) -> list[WriteStat]:
        context = context_of(self.table, self.transaction.time, virtual_keys=virtual_keys_of(self.table.config))
        if not bloom:
            context = replace(context, file_format=replace(context.file_format, bloom=None))
        handle = CreateHandle(context, scope(), partition, SYSTEM_CLOCK.new_uuid())
        handle.write(rows(*((key, 1, self.transaction.time) for key in keys), partition=partition))
        return handle.close()

    def log(self, key: str) -> list[WriteStat]:
        """In a log without a base file."""
        context, scoped, time = context_of(self.table, self.transaction.time), scope(), self.transaction.time
        target = AppendTarget(
            partition="a", file_id=f"f{key}-0", base_instant=time, base_file="", log_names=(), next_version=1
        )
        changes = Changes(stamp(rows((key, 1, "x")), context, scoped, "a", target.file_id), np.zeros(1, bool))
        return append_changes(context, scoped, target, changes, hard_deletes=False)

    def fill(self, *keys: str) -> list[WriteStat]:
        """Upsert into the oldest file group of partition a."""
        one = min(self.table.file_slices("a"), key=lambda one: one.base_instant)
        assert one.base_file is not None
        new = rows(*((key, 2, self.transaction.time) for key in keys))
        changes = Changes(new, np.zeros(len(keys), bool))
        return [merge_base_file(context_of(self.table, self.transaction.time), scope(), one.base_file, changes)]

    def publish(self, stats: Sequence[WriteStat], replaced: Mapping[str, tuple[str, ...]] | None = None) -> None:
        options = IngestOptions(base_path=self.table.base_path, op=self.operation, hoodie_conf=self.conf)
        config = resolve(options, self.table, self.table.lake)
        prepared = StoredSchema(config=config, schema=WriterSchema(avro=AVRO), evolution=None)
        written = Written(stats=list(stats), replaced=replaced)
        publish(config, self.table, prepared, self.transaction, written, Progress("ingest"), self.placed_by)


def refused(writer: Writer, stats: Sequence[WriteStat]) -> WriteConflictError:
    with pytest.raises(WriteConflictError, match="both inserted") as error:
        writer.publish(stats)
    writer.transaction.abandon()
    return error.value


def stored(table: HudiTable, *keys: str) -> None:
    writer = Writer.begin(table)
    writer.publish(writer.write(*keys))


def keys_of(table: HudiTable) -> list[str]:
    return [key for key, _, _ in contents(table)]


@pytest.mark.parametrize("index", INDEXES)
def test_the_second_is_refused_and_leaves_nothing_visible(table: HudiTable, index: str) -> None:
    first, second = Writer.begin(table, index), Writer.begin(table, index)
    theirs, ours = first.write("1", "2"), second.write("2", "3")
    first.publish(theirs)
    refusal = refused(second, ours)
    assert refusal.exit_code == 3
    assert re.search(r"both inserted 1 key\(s\), such as '2': run it again$", str(refusal))
    undo(second.transaction.settings, second.transaction.time, print)
    assert keys_of(table) == ["1", "2"]
    assert not (file_at(table.storage, table.base_path) / str(ours[0].path)).exists()


@pytest.mark.parametrize("index", INDEXES)
def test_other_keys_of_the_same_partition_are_no_conflict(table: HudiTable, index: str) -> None:
    first, second = Writer.begin(table, index), Writer.begin(table, index)
    theirs, ours = first.write("1", "3"), second.write("2", "4")
    first.publish(theirs)
    second.publish(ours)
    assert keys_of(table) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("index", INDEXES)
def test_a_key_is_one_record_in_its_partition_or_in_the_table(table: HudiTable, index: str) -> None:
    first, second = Writer.begin(table, index), Writer.begin(table, index)
    theirs, ours = first.write("1", partition="a"), second.write("1", partition="b")
    first.publish(theirs)
    if index in GLOBAL:
        refused(second, ours)
        assert keys_of(table) == ["1"]
    else:
        second.publish(ours)
        assert keys_of(table) == ["1", "1"]


def test_files_without_bloom_filters_are_compared_key_by_key(table: HudiTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inserted_keys, "KEYS_AT_ONCE", 2)
    first, second = Writer.begin(table), Writer.begin(table)
    theirs, ours = first.write("4", "6", bloom=False), second.write("1", "2", "3", "5", "6", bloom=False)
    first.publish(theirs)
    refused(second, ours)


def test_virtual_keys_are_computed(root: Folder) -> None:
    without = {"hoodie.populate.meta.fields": "false"}
    table = new_table(root / "t", merge_on_read=False, clock=SYSTEM_CLOCK, properties=without)
    first, second, third = (Writer.begin(table) for _ in range(3))
    files = [one.write(*keys, bloom=False) for one, keys in ((first, "12"), (second, "23"), (third, "34"))]
    first.publish(files[0])
    refused(second, files[1])
    third.publish(files[2])
    assert keys_of(table) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("table", [False], indirect=True)
def test_new_keys_that_fill_a_file_up_are_compared_and_updated_ones_are_not(table: HudiTable) -> None:
    stored(table, "1", "2")
    other, updating, inserting = (Writer.begin(table) for _ in range(3))
    inserted, updated, filled = other.write("1", "8"), updating.fill("1", "9"), inserting.fill("2", "8")
    other.operation = Operation.INSERT  # which may add a key a second time
    other.publish(inserted)
    refused(inserting, filled)
    updating.publish(updated)
    assert keys_of(table) == ["1", "1", "2", "8", "9"]


@pytest.mark.parametrize(
    ("operation", "conf", "is_refused"),
    [
        (Operation.INSERT, {"hoodie.datasource.write.insert.drop.duplicates": "true"}, True),
        (Operation.INSERT, {"hoodie.datasource.insert.dup.policy": "drop"}, True),
        (Operation.INSERT, {"hoodie.datasource.insert.dup.policy": "fail"}, True),
        (Operation.INSERT, {}, False),
        (Operation.BULK_INSERT, {}, False),
    ],
)
def test_inserts_that_look_keys_up_are_compared(
    table: HudiTable, operation: Operation, conf: dict[str, str], is_refused: bool
) -> None:
    first, second = Writer.begin(table), Writer.begin(table, **conf)
    second.operation = operation
    theirs, ours = first.write("1"), second.write("1")
    first.publish(theirs)
    if is_refused:
        refused(second, ours)
    else:
        second.publish(ours)
    assert keys_of(table) == ["1"] * (1 if is_refused else 2)


def test_what_was_completed_before_the_keys_were_looked_up_is_not_compared(table: HudiTable) -> None:
    """A table may have a key twice, by inserts that look nothing up."""
    stored(table, "1")
    second = Writer.begin(table)
    second.publish(second.write("1"))
    assert keys_of(table) == ["1", "1"]


@pytest.mark.parametrize("table", [False], indirect=True)
def test_records_that_a_clustering_moves_are_not_inserted(table: HudiTable) -> None:
    stored(table, "1")
    second, moving = Writer.begin(table), Writer.begin(table)
    moved, ours = moving.write("7"), second.write("7")
    complete(table, moving.transaction.instant, moved, OperationType.CLUSTER)
    second.publish(ours)


@pytest.mark.parametrize("table", [True], indirect=True)
def test_keys_in_logs_are_compared(table: HudiTable) -> None:
    """Hudi's writers put new keys into logs, too, with indexes that find them there."""
    first, second = Writer.begin(table), Writer.begin(table)
    theirs, ours = first.log("2"), second.write("1", "2")
    first.publish(theirs)
    refused(second, ours)


@pytest.mark.parametrize("table", [True], indirect=True)
def test_own_keys_in_logs_are_compared(table: HudiTable) -> None:
    """They are new where a pending compaction drops what an older log deleted: others no longer find them there."""
    first, second, third = (Writer.begin(table) for _ in range(3))
    theirs, ours, others = first.write("1", "2"), second.log("2"), third.log("3")
    first.publish(theirs)
    refused(second, ours)
    third.publish(others)
    assert keys_of(table) == ["1", "2", "3"]


@pytest.mark.parametrize("table", [False], indirect=True)
def test_files_that_were_cleaned_meanwhile_are_looked_for_in_what_was_made_of_them(table: HudiTable) -> None:
    second = Writer.begin(table)
    ours = second.write("2")
    stored(table, "1", "2")
    (old,) = table.refreshed().file_slices("a")
    updating = Writer.begin(table)
    updating.publish(updating.fill("1"))
    table.storage.delete(f"{table.base_path}/{old.paths[0]}")
    refused(second, ours)


def archived_meanwhile(table: HudiTable, first: Writer, theirs: Sequence[WriteStat]) -> None:
    """The first write is published, and archived behind others."""
    first.publish(theirs)
    for key in "890":
        stored(table, key)
    few = {"hoodie.keep.min.commits": "1", "hoodie.keep.max.commits": "2", "hoodie.cleaner.commits.retained": "1"}
    done = run_archival(ArchiveOptions(base_path=table.base_path, hoodie_conf=few), job_context(lake=table.lake))
    assert done.state is JobState.COMPLETED, done.reason
    assert first.transaction.time not in {one.timestamp for one in table.refreshed().timeline.instants}


@pytest.mark.parametrize("table", [False], indirect=True)
def test_commits_that_were_archived_meanwhile_are_compared(table: HudiTable) -> None:
    first = Writer.begin(table)
    theirs = first.write("2")
    for key in "567":
        stored(table, key)
    second = Writer.begin(table)
    ours = second.write("1", "2")
    archived_meanwhile(table, first, theirs)
    refused(second, ours)


@pytest.mark.parametrize("table", [False], indirect=True)
def test_file_groups_that_archived_commits_changed_meanwhile_are_in_conflict(table: HudiTable) -> None:
    seed = Writer.begin(table)
    complete(table, seed.transaction.instant, seed.write("1", "2"), OperationType.UPSERT)
    seed.transaction.abandon()
    first = Writer.begin(table)
    theirs = first.fill("1")
    for key in "567":
        stored(table, key)
    second = Writer.begin(table)
    ours = second.fill("2")
    archived_meanwhile(table, first, theirs)
    with pytest.raises(WriteConflictError, match=rf"and {first.transaction.time} commit .* both changed 1 file group"):
        second.publish(ours)
    second.transaction.abandon()
    assert {key: time for key, _, time in contents(table)}["1"] == first.transaction.time


@pytest.mark.parametrize("table", [False], indirect=True)
def test_an_overwrite_sees_what_was_archived_meanwhile(table: HudiTable) -> None:
    first = Writer.begin(table)
    theirs = first.write("2")
    for key in "567":
        stored(table, key)
    seen = table.refreshed().timeline
    Writer.begin(table)  # the overwrite, which keeps what comes after it on the timeline
    archived_meanwhile(table, first, theirs)
    with pytest.raises(WriteConflictError, match=f"is to be replaced, and {first.transaction.time} commit"):
        refuse_other_writers(table.refreshed().timeline, seen, ["a"], table.clock)


@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_SIMPLE"])
def test_what_replaces_the_table_meets_a_partition_that_is_new_since(table: HudiTable, index: str) -> None:
    """By a global index its key would be there twice, in no order of the two."""
    first, second = Writer.begin(table, index), Writer.begin(table, index)
    second.operation = Operation.INSERT_OVERWRITE_TABLE
    theirs, ours = first.write("1", partition="new"), second.write("1", partition="a")
    first.publish(theirs)
    if index in GLOBAL:
        with pytest.raises(
            WriteConflictError, match=f"partition 'new' is to be replaced, and {first.transaction.time}"
        ):
            second.publish(ours, {"a": ()})
        second.transaction.abandon()
    else:
        second.publish(ours, {"a": ()})
    assert keys_of(table) == (["1"] if index in GLOBAL else ["1", "1"])


@pytest.mark.parametrize("table", [False], indirect=True)
def test_a_record_that_moved_to_another_partition_is_compared_by_a_global_index(table: HudiTable) -> None:
    stored(table, "1", "2")
    first, moving = Writer.begin(table), Writer.begin(table, "GLOBAL_SIMPLE")
    first.operation = Operation.INSERT
    theirs = first.write("1", partition="c")
    moved = [*moving.fill("2"), *moving.write("1", partition="b")]
    first.publish(theirs)
    refused(moving, moved)


@pytest.mark.parametrize("table", [False], indirect=True)
def test_a_write_that_builds_on_one_that_was_rolled_back_is_refused(
    table: HudiTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It began before that one, was placed after it, and waits for the lock while that one is rolled back."""
    stored(table, "1", "2")
    second, first = Writer.begin(table), Writer.begin(table)
    first.publish(first.fill("1"))
    second.table = table.refreshed()
    second.placed_by = second.table.timeline
    ours = second.fill("2")
    options = RollbackOptions(base_path=table.base_path, instant_time=first.transaction.time)
    to_publish = Transaction.publish

    def waits(*args: Any, **options_of: Any) -> Instant:
        monkeypatch.undo()
        assert run_rollback(options, job_context(lake=table.lake)).state is JobState.COMPLETED
        return to_publish(*args, **options_of)

    monkeypatch.setattr(Transaction, "publish", waits)
    with pytest.raises(WriteConflictError, match=f"may build on {first.transaction.time}, which was rolled back"):
        second.publish(ours)
    second.transaction.abandon()
    undo(second.transaction.settings, second.transaction.time, print)
    assert {time for _, _, time in contents(table)} == {table.refreshed().timeline.completed_commits()[0].timestamp}


def test_nothing_more_is_read_where_nothing_was_completed_meanwhile(
    root: Folder, table: HudiTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(table, "1")
    mine = root / "t"
    mine.copy_to(root / "copied")

    def calls(path: Folder) -> list[str]:
        storage = FaultyStorage(inner=path.storage)
        writer = Writer.begin(replace(path.table(), storage=storage))
        writer.table = replace(writer.table, storage=storage)
        stats = writer.write("2")
        storage.calls.clear()
        writer.publish(stats)
        return storage.calls

    compared = calls(mine)
    monkeypatch.setattr(InsertedKeys, "publish", lambda self, complete: complete(lambda timeline: None))
    assert compared == calls(root / "copied")


def test_files_are_compared_without_the_lock_and_under_it_those_of_the_meantime(
    table: HudiTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (Writer.begin(table) for _ in range(3))
    files = first.write("1"), second.write("2", "5"), third.write("5")
    first.publish(files[0])
    locked: list[bool] = []
    compare = InsertedKeys.compare

    def watched(self: InsertedKeys, timeline: ActiveTimeline) -> None:
        locked.append(is_locked(table.storage, table.transaction_settings({}).lock))
        compare(self, timeline)
        if len(locked) == 1:
            third.publish(files[2])

    monkeypatch.setattr(InsertedKeys, "compare", watched)
    refused(second, files[1])
    assert locked == [False, False, True, True]  # of the second, twice of the third, and of the second again
