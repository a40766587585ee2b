"""What a task writes, without Spark: bulk inserts to many partitions keep few files open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.files.base_file import open_base_file
from spark_jobs.core.files.base_file_writer import BaseFileWriter
from spark_jobs.core.files.write_format import base_file_format
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import ConfinedStorage
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.write import tasks
from spark_jobs.write.routes import CreateRoute
from spark_jobs.write.tasks import BUCKET, RecordRules, as_records, bulk_insert_batches, write_buckets
from tests.support.folder import Folder
from tests.unit.core.support import context_of, new_table, rows, scope

pytestmark = pytest.mark.unit

SEED = "00000000-0000-0000-0000-00000000000a"
RULES = RecordRules(combine=False, all_deleted=False)


@pytest.fixture
def context(root: Folder) -> WriteContext:
    return context_of(new_table(root / "t"), "100")


@pytest.fixture
def open_files(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files were open after each one was opened; watches the real writer."""
    counts = [0]
    now = set()
    begin, close, abort = BaseFileWriter.__init__, BaseFileWriter.close, BaseFileWriter.abort

    def watched_begin(self: BaseFileWriter, *arguments: object) -> None:
        begin(self, *arguments)  # type: ignore[arg-type]
        now.add(id(self))
        counts.append(len(now))

    def watched_close(self: BaseFileWriter) -> int:
        now.discard(id(self))
        return close(self)

    def watched_abort(self: BaseFileWriter) -> None:
        now.discard(id(self))
        abort(self)

    monkeypatch.setattr(BaseFileWriter, "__init__", watched_begin)
    monkeypatch.setattr(BaseFileWriter, "close", watched_close)
    monkeypatch.setattr(BaseFileWriter, "abort", watched_abort)
    return counts


def batches(*partitions: str) -> Iterator[pa.RecordBatch]:
    for number, partition in enumerate(partitions):
        yield from rows((f"k{number}", number, partition), partition=partition).to_batches()


def insert(context: WriteContext, *partitions: str, most: int = tasks.MAX_OPEN_FILES) -> list[WriteStat]:
    return list(bulk_insert_batches(batches(*partitions), context, scope(), SEED, RULES, most))


def keys(context: WriteContext, stat: WriteStat) -> list[str]:
    table = open_base_file(context.storage, f"{context.base_path}/{stat.path}").read(["id"])
    return [str(key) for key in table.column("id").to_pylist()]


def test_one_file_for_each_partition_while_they_are_few(context: WriteContext, open_files: list[int]) -> None:
    stats = insert(context, "a", "b", "a", "b")
    assert [(one.partition_path, one.file_id[-2:], keys(context, one)) for one in stats] == [
        ("a", "-0", ["k0", "k2"]),
        ("b", "-0", ["k1", "k3"]),
    ]
    assert max(open_files) == 2


def test_beyond_the_limit_the_least_recently_used_file_is_closed(context: WriteContext, open_files: list[int]) -> None:
    stats = insert(context, "a", "b", "a", "c", "b", "b", "a", most=2)
    found = sorted((one.partition_path, one.file_id[-2:], keys(context, one)) for one in stats)
    assert found == [
        ("a", "-0", ["k0", "k2"]),
        ("a", "-1", ["k6"]),
        ("b", "-0", ["k1"]),
        ("b", "-1", ["k4", "k5"]),
        ("c", "-0", ["k3"]),
    ]
    assert max(open_files) == 2
    assert len({one.file_id for one in stats}) == 5
    for one, other in pairwise([one.file_id for one in stats if one.partition_path == "a"]):
        assert one[:-2] == other[:-2]


def test_a_hundred_partitions_in_turn(context: WriteContext, open_files: list[int]) -> None:
    names = [f"p{number:03d}" for number in range(100)]
    stats = insert(context, *names, *names)
    assert sum(one.num_writes for one in stats) == 200
    assert len({one.path for one in stats}) == len(stats)
    assert max(open_files) == tasks.MAX_OPEN_FILES


def test_batches_of_many_partitions_are_gathered(context: WriteContext, open_files: list[int]) -> None:
    """Three batches, of three partitions each: with two open files every batch would begin three files."""
    given = [
        pa.concat_tables([rows((f"k{number}", 1, "v"), partition=one) for one in "xyz"]).combine_chunks()
        for number in range(3)
    ]
    whole = [table.to_batches()[0] for table in given]
    stats = list(bulk_insert_batches(iter(whole), context, scope(), SEED, RULES, 2))
    assert [(one.partition_path, one.num_writes) for one in sorted(stats, key=lambda one: one.partition_path)] == [
        ("x", 3),
        ("y", 3),
        ("z", 3),
    ]
    assert max(open_files) == 2


def test_a_file_group_that_is_begun_is_written_as_its_records_come(
    context: WriteContext, open_files: list[int]
) -> None:
    """Without a look for equal keys nothing is held; the first file is open when the second batch is asked for."""
    open_when_asked = []

    def routed() -> Iterator[pa.RecordBatch]:
        for batch in batches("a", "a", "a"):
            yield batch.append_column(BUCKET, pa.array([4], pa.int32()))
            open_when_asked.append(len(open_files) - 1)

    (stat,) = write_buckets(routed(), context, scope(), {4: CreateRoute("a", SEED)}, RULES)
    assert (open_when_asked, stat.num_inserts, keys(context, stat)) == ([1, 1, 1], 3, ["k0", "k1", "k2"])


def test_an_error_leaves_no_file_open(context: WriteContext) -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield from batches("a", "b")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(bulk_insert_batches(broken(), context, scope(), SEED, RULES))


def test_times_keep_their_digits_in_a_table_of_milliseconds(context: WriteContext) -> None:
    schema = pa.schema([("id", pa.string()), ("at", pa.timestamp("ms", tz="UTC"))])
    millis = replace(context, file_format=base_file_format({}, schema, avro_schema_of(schema, "t")))

    def records(micros: int) -> pa.Table:
        found = rows(("k", 0, "p"), partition="p").select([RECORD_KEY, PARTITION_PATH, "id"])
        return as_records(found.append_column("at", pa.array([micros], pa.timestamp("us", tz="UTC"))), millis)

    assert records(5_000)["at"].cast(pa.int64()).to_pylist() == [5]
    with pytest.raises(BadRecordError, match=r"column at holds 1970-01-01 00:00:00\.005001"):
        records(5_001)


def test_a_boolean_is_no_number(context: WriteContext) -> None:
    given = rows(("1", 1, "x"))
    index = given.schema.get_field_index("ts")
    with pytest.raises(BadRecordError, match="column ts holds bool, the table has int64: convert it in the source"):
        as_records(given.set_column(index, "ts", pa.array([True])), context)


def test_the_files_of_a_task_are_forced_to_the_disk_together(
    context: WriteContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[list[str]] = []
    monkeypatch.setattr(ConfinedStorage, "sync", lambda self, paths, names: forced.append(list(paths)))
    records = pa.concat_tables([rows((str(number), 1, "x"), partition=f"p{number}") for number in range(3)])
    routed = records.append_column(BUCKET, pa.array([0, 1, 2], pa.int32()))
    routes = {number: CreateRoute(f"p{number}", f"{SEED[:-1]}{number}") for number in range(3)}
    writes: list[Callable[[TaskScope], Iterator[WriteStat]]] = [
        lambda scope: write_buckets(iter(routed.to_batches()), context, scope, routes, RULES),
        lambda scope: bulk_insert_batches(iter(records.to_batches()), context, scope, SEED, RULES),
    ]
    for write in writes:
        forced.clear()
        stats = list(write(scope()))
        assert forced == [[context.path(one.partition_path, one.file_name) for one in stats]]
        assert len(stats) == 3
