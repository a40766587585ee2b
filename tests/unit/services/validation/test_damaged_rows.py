"""Invariants 1, 2, 4 and 5 by the rows: each harm is found by a deep validation, the file named, and only then."""

from __future__ import annotations

import json
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.services.validation import key_checks
from spark_jobs.services.validation.run import validate
from tests.support.folder import Folder, read_parquet
from tests.unit.services.validation.damage import data_files, findings, flip, rewrite, with_value

pytestmark = pytest.mark.unit

Unpack = Callable[[str], Folder]
KEY = "_hoodie_record_key"


def live_bases(base: Folder) -> list[str]:
    return [one.relative_path for one in base.table(lists_storage=True).view().latest_base_files()]


def said(base: Folder, path: str, invariant: int) -> list[str]:
    """What a deep validation says of a file by one invariant, and a quick one does not."""
    quick = {one.what for one in validate(str(base), lake=base.lake) if (one.path, one.invariant) == (path, invariant)}
    deep = [
        one.what
        for one in validate(str(base), deep=True, lake=base.lake)
        if (one.path, one.invariant) == (path, invariant)
    ]
    return [what for what in deep if what not in quick]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (KEY, None, "a row has no _hoodie_record_key"),
        (KEY, "", "a row has no _hoodie_record_key"),
        ("_hoodie_partition_path", "elsewhere", "a row has _hoodie_partition_path 'elsewhere'"),
        ("_hoodie_file_name", "x_1-1-1_20200101000000000.parquet", "a row has _hoodie_file_name 'x_1-1-1_"),
        (
            "_hoodie_commit_time",
            "20991231000000000",
            "a row has _hoodie_commit_time 20991231000000000, which is not up to",
        ),
        ("_hoodie_commit_time", None, "a row has _hoodie_commit_time None"),
    ],
)
def test_a_meta_column_that_lies(unpack: Unpack, column: str, value: object, words: str) -> None:
    base = unpack("tables/cow_upserts")
    path = live_bases(base)[0]
    rewrite(base / path, with_value(column, 1, value))
    assert [what for what in said(base, path, 2) if what.startswith(words)]


def test_a_commit_time_of_no_timeline(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_bases(base)[0]
    rewrite(base / path, with_value("_hoodie_commit_time", 1, "20200101000000000"))
    assert said(base, path, 8) == ["a row has _hoodie_commit_time 20200101000000000, which is on neither timeline"]


def test_a_row_of_a_write_that_was_rolled_back(unpack: Unpack) -> None:
    base = unpack("tables/mor_logs")
    table = base.table()
    (rollback,) = [one for one in table.timeline.instants if one.action.value == "rollback"]
    rolled_back = table.timeline.payload(rollback, table.clock)["commitsRollback"][0]
    path = live_bases(base)[0]
    rewrite(base / path, with_value("_hoodie_commit_time", 1, rolled_back))
    assert said(base, path, 2) == [f"a row has _hoodie_commit_time {rolled_back}, which was rolled back"]


def test_a_key_that_look_ups_miss(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_bases(base)[0]
    rewrite(base / path, with_value(KEY, 0, "~~ no such key"))
    hides = "look-ups of this key miss it, and an upsert writes it a second time"
    assert said(base, path, 5) == [
        f"its bloom filter does not know its key '~~ no such key': {hides}",
        f"its key '~~ no such key' is out of the range of its footer: {hides}",
    ]


def test_a_key_in_two_file_groups(unpack: Unpack) -> None:
    base = unpack("shared/cow-v6_nonpartitioned")
    first, second = _split(base)
    row = read_parquet(base / first).slice(0, 1)
    rewrite(base / second, lambda table: pa.concat_tables([table, row.cast(table.schema)]))
    found = [what for path in (first, second) for what in said(base, path, 2) if " and in " in what]
    assert len(found) == 1
    assert repr(row.column(KEY)[0].as_py()) in found[0]


def _split(base: Folder) -> tuple[str, str]:
    """Two live files of one partition: the commit of the first is made to name an empty second one."""
    path = live_bases(base)[0]
    name = path.rsplit("/", 1)[-1]
    other = path.replace(name, "00000000-" + name.split("-", 1)[1])
    (base / path).copy_to(base / other)
    rewrite(base / other, lambda table: table.slice(0, 0))
    commit = next(base.glob(f".hoodie/{name.rsplit('_', 1)[-1].removesuffix('.parquet')}.*commit"))
    raw = json.loads(commit.read_text())
    for stats in raw["partitionToWriteStats"].values():
        for stat in [one for one in stats if one["path"] == path]:
            file_id = other.rsplit("/", 1)[-1].split("_")[0]
            stats.append({**stat, "path": other, "fileId": file_id, "fileSizeInBytes": 0})
    commit.write_text(json.dumps(raw))
    return path, other


def test_a_key_twice_in_one_file(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_bases(base)[0]
    rewrite(base / path, lambda table: pa.concat_tables([table, table.slice(0, 1)]))
    assert [what for what in said(base, path, 2) if "is in two of its rows (1 such key(s))" in what]


def test_many_pairs_of_groups_are_counted_alone(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_checks, "_MOST_PAIRS", 0)
    base = unpack("tables/cow_upserts")
    path = live_bases(base)[0]
    rewrite(base / path, lambda table: pa.concat_tables([table, table.slice(0, 3)]))
    (found,) = [one for one in validate(str(base), deep=True, lake=base.lake) if one.invariant == 2]
    assert found.path == path.split("/")[0]
    assert found.what == "up to 3 more key(s) are in two places, in 1 pairs of file groups"


def test_the_same_key_in_two_partitions_is_none(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    first, second = live_bases(base)[:2]
    assert first.split("/")[0] != second.split("/")[0]
    key = read_parquet(base / first).column(KEY)[0].as_py()
    rewrite(base / second, with_value(KEY, 0, key))
    assert not [what for what in said(base, second, 2) if " and in " in what]


def test_a_page_that_is_damaged(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_bases(base)[0]
    group = pq.read_metadata(pa.BufferReader((base / path).read_bytes())).row_group(0)
    for column in range(group.num_columns):
        chunk = group.column(column)
        flip(base / path, chunk.data_page_offset + 3)
    assert [what for what in said(base, path, 5) if what.startswith("its rows are unreadable")]


@pytest.mark.parametrize("table", ["logs_avro", "logs_parquet", "logs_hfile"])
def test_a_log_block_that_is_damaged(unpack: Unpack, table: str) -> None:
    base = unpack(f"log_tables/{table}")
    path = data_files(base, ".log.")[0]
    data = (base / path).read_bytes()
    (base / path).write_bytes(data[: len(data) // 2] + bytes(200) + data[len(data) // 2 + 200 :])
    assert said(base, path, 5) or said(base, path, 2)


def test_a_log_block_with_a_broken_frame(unpack: Unpack) -> None:
    base = unpack("log_tables/logs_avro")
    path = data_files(base, ".log.")[0]
    flip(base / path, -1)
    (what,) = said(base, path, 5)
    assert what.endswith("are no log block: readers pass over them")


@pytest.mark.parametrize("table", ["tables/mor_logs", "schema_tables/evolved_compacted", "metadata_tables/indexed_mor"])
def test_a_compaction_that_changed_a_row(unpack: Unpack, table: str) -> None:
    base = unpack(table)
    path, time = _output(base, OperationType.COMPACT)
    assert said(base, path, 4) == []
    rewrite(base / path, _other_value)
    (what,) = said(base, path, 4)
    assert time in what
    assert what.endswith("of which some differ")


def test_a_compaction_that_lost_a_row(unpack: Unpack) -> None:
    base = unpack("tables/mor_logs")
    path, _ = _output(base, OperationType.COMPACT)
    count = read_parquet(base / path).num_rows
    rewrite(base / path, lambda table: table.slice(1))
    (what,) = said(base, path, 4)
    assert f"{count} rows went in and {count - 1} came out" in what


def test_a_rewrite_whose_inputs_were_cleaned_is_passed_over(unpack: Unpack) -> None:
    base = unpack("schema_tables/altered_compacted")
    path, _ = _output(base, OperationType.COMPACT)
    rewrite(base / path, lambda table: table.slice(1))
    assert said(base, path, 4) == []


def _output(base: Folder, operation: OperationType) -> tuple[str, str]:
    """A file that a service made, and its instant."""
    table = base.table()
    for instant in table.timeline.completed_commits():
        metadata = table.timeline.commit_metadata(instant, table.clock)
        if operation is (OperationType.COMPACT if metadata.compacted else metadata.operation_type):
            path = next(one.path for one in metadata.write_stats if one.path)
            return path, instant.timestamp
    raise AssertionError(f"{base} has no {operation}")


def _other_value(table: pa.Table) -> pa.Table:
    """One value of the last plain column changed."""
    for name in reversed(table.column_names):
        values = table.column(name)
        others = [one for one in values.unique().to_pylist() if one != values[0].as_py()]
        if others and not pa.types.is_nested(values.type):
            return with_value(name, 0, others[0])(table)
    raise AssertionError("no column with two values")


def test_a_sound_table_stays_sound_when_files_are_rewritten_as_they_were(unpack: Unpack) -> None:
    """The harness itself does no harm that a deep validation sees, but for sizes."""
    base = unpack("tables/cow_upserts")
    path = live_bases(base)[0]
    rewrite(base / path)
    assert {(one[0], one[2]) for one in findings(base, deep=True)} == {(5, path), (9, path)}
    assert said(base, path, 5) == []
