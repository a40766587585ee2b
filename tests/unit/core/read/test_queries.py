"""Snapshot, read-optimized, time-travel and incremental queries over a table written by handles alone."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow.compute as pc
import pytest

from spark_jobs.core.errors import ConfigError, CorruptTableError, TableNotFoundError, UnsupportedTableError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.v6.file_names import parse_base_file_name
from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import BaseFile
from tests.support.folder import Folder
from tests.unit.core.support import SCHEMA, complete, contents, context_of, new_table, rows, scope, start

pytestmark = pytest.mark.unit

T1, T2, T3, T4 = (f"2024010100000000{n}" for n in range(1, 5))
A1, B1, C1 = ("a", 1, "one"), ("b", 1, "one"), ("c", 1, "one")


def inserts(table: HudiTable, time: str, partition: str, *records: tuple[str, int, str]) -> WriteStat:
    handle = CreateHandle(context_of(table, time), scope(), partition, f"{partition}-group")
    handle.write(rows(*records, partition=partition))
    (stat,) = handle.close()
    return stat


def append(
    table: HudiTable, time: str, base: WriteStat, version: int, deleted: list[bool], *records: tuple[str, int, str]
) -> WriteStat:
    context = context_of(table, time)
    target = AppendTarget(
        partition=base.partition_path,
        file_id=base.file_id,
        base_instant=T1,
        base_file=base.file_name,
        log_names=(),
        next_version=version,
    )
    stamped = stamp(rows(*records, partition=base.partition_path), context, scope(), base.partition_path, base.file_id)
    changes = Changes(stamped, np.array(deleted, bool))
    [stat] = append_changes(context, scope(), target, changes, hard_deletes=False)
    return stat


@pytest.fixture
def table(root: Folder) -> HudiTable:
    """T1: a, b in partition p, c in q. T2: logs: a changes, b goes, d comes. T3: a log that never completes."""
    table = new_table(root / "t")
    first = start(table, T1)
    base, other = inserts(table, T1, "p", A1, B1), inserts(table, T1, "q", C1)
    complete(table, first, [base, other], OperationType.BULK_INSERT)
    second = start(table, T2)
    log = append(table, T2, base, 1, [False, True, False], ("a", 2, "two"), ("b", 2, ""), ("d", 2, "two"))
    complete(table, second, [log])
    start(table, T3)
    append(table, T3, base, 2, [False], ("a", 3, "never"))
    return table.refreshed()


NOW = [("a", 2, "two"), C1, ("d", 2, "two")]


def test_a_snapshot_merges_completed_logs_over_base_files(table: HudiTable) -> None:
    assert contents(table) == NOW
    whole = table.scan().to_arrow()
    assert whole.schema.equals(SCHEMA)
    assert sorted(whole.column("_hoodie_commit_time").to_pylist()) == [T1, T2, T2]


def test_read_optimized_sees_base_files_alone(table: HudiTable) -> None:
    assert contents(table, query="read_optimized") == [A1, B1, C1]


def test_time_travel(table: HudiTable) -> None:
    assert contents(table, as_of=T1) == [A1, B1, C1]
    assert contents(table, as_of=T2) == NOW
    assert contents(table, as_of="20230101000000000") == []


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        ("000", None, NOW),
        (T1, None, [("a", 2, "two"), ("d", 2, "two")]),  # begin is exclusive
        (T2, None, []),
        ("000", T2, NOW),  # end is inclusive
        ("", T1, [A1, B1, C1]),  # as the rows were at its end
    ],
)
def test_incremental(table: HudiTable, begin: str, end: str | None, expected: list[tuple[str, int, str]]) -> None:
    assert contents(table, query="incremental", begin=begin, end=end) == expected


def test_incremental_from_the_start_has_rows_whose_commit_was_archived(table: HudiTable) -> None:
    for file in Folder(f"{table.base_path}/.hoodie", table.lake).glob(f"{T1}.*"):
        file.unlink()
    Folder(f"{table.base_path}/.hoodie/archived/.commits_.archive.1_1-0-1", table.lake).write_bytes(b"")
    assert contents(table, query="incremental", begin="000") == NOW


def test_columns_and_filter(table: HudiTable) -> None:
    found = table.scan(columns=("value", "_hoodie_record_key"), filter=pc.field("ts") > 1).to_arrow()
    assert found.schema.names == ["value", "_hoodie_record_key"]
    assert sorted(found.column("_hoodie_record_key").to_pylist()) == ["a", "d"]
    assert table.scan(columns=()).to_arrow().num_rows == 3


def test_a_scan_of_some_partitions_looks_at_no_other(table: HudiTable) -> None:
    everything = contents(table)
    of_q = contents(table, partitions=["q"])
    assert of_q == [C1]
    assert contents(table, partitions=["p", "q"]) == everything
    assert contents(table, partitions=["elsewhere"]) == []
    assert contents(table, partitions=[]) == []
    with pytest.raises(ConfigError, match=r"partitions='q' is one text: give a list: \['q'\]"):
        contents(table, partitions="q")
    for one in table.storage.list(f"{table.base_path}/p"):
        table.storage.delete(one.path)
    assert contents(table.refreshed(), partitions=["q"]) == of_q


def test_partitions_and_slices(table: HudiTable) -> None:
    assert table.partitions() == ["p", "q"]
    assert [one.file_id for one in table.file_slices("q")] == ["q-group-0"]
    assert table.schema.names == ["id", "ts", "value"]


def test_queries_that_can_not_be(table: HudiTable, root: Folder) -> None:
    with pytest.raises(ConfigError, match="query=latest is not valid: give one of snapshot"):
        table.scan(query="latest")
    with pytest.raises(ConfigError, match=r"datetime\.date\(2024, 5, 6\) is no instant: give a text"):
        table.scan(as_of=date(2024, 5, 6))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="needs begin"):
        table.scan(query="incremental")
    for query, bound in (
        ("snapshot", "begin"),
        ("snapshot", "end"),
        ("read_optimized", "end"),
        ("incremental", "as_of"),
    ):
        bounds = {"begin": "000"} if query == "incremental" else {}
        with pytest.raises(ConfigError, match=f"a {query} query has no {bound}: give "):
            table.scan(query=query, **{**bounds, bound: "20990101"})
    with pytest.raises(ConfigError, match=r"no column nothing: its columns are _hoodie_commit_time, .*id, ts, value"):
        table.scan(columns=("nothing",)).to_arrow()
    with pytest.raises(TableNotFoundError):
        (root / "elsewhere").table()
    bare = new_table(root / "bare")
    with pytest.raises(ConfigError, match="has no schema yet: write to it first"):
        bare.scan()
    keyless = new_table(root / "keyless", properties={"hoodie.populate.meta.fields": "false"})
    complete(keyless, start(keyless, T1), [])
    with pytest.raises(ConfigError, match=r"populate\.meta\.fields=false: its rows don't say when they were written"):
        keyless.refreshed().scan(query="incremental", begin="000").to_arrow()
    narrow = new_table(root / "narrow", properties={"hoodie.table.base.file.format": "ORC"})
    complete(narrow, start(narrow, T1), [])
    with pytest.raises(UnsupportedTableError, match=r"hoodie\.table\.base\.file\.format other than PARQUET"):
        narrow.refreshed().scan().to_arrow()


def test_copy_on_write_versions(root: Folder) -> None:
    table = new_table(root / "t", merge_on_read=False)
    first = start(table, T1, Action.COMMIT)
    stat = inserts(table, T1, "p", A1, B1)
    complete(table, first, [stat])
    second = start(table, T2, Action.COMMIT)
    name = parse_base_file_name(stat.file_name)
    assert name is not None
    context = context_of(table, T2)
    news = Changes(stamp(rows(("a", 2, "two")), context, scope(), "p", ""), np.array([False]))
    merged = merge_base_file(context, scope(), BaseFile("p", name, 0), news)
    assert contents(table) == [A1, B1]  # not before it is published
    complete(table, second, [merged])
    assert contents(table) == [("a", 2, "two"), B1]
    assert contents(table, as_of=T1) == [A1, B1]
    assert contents(table, query="incremental", begin=T1) == [("a", 2, "two")]


def test_replaced_groups_are_not_read(table: HudiTable) -> None:
    work = start(table, T4, Action.REPLACE_COMMIT)
    stat = inserts(table, T4, "r", ("z", 9, "four"))
    complete(table, work, [stat], OperationType.INSERT_OVERWRITE, {"q": ("q-group-0",)})
    assert contents(table) == [("a", 2, "two"), ("d", 2, "two"), ("z", 9, "four")]
    assert contents(table, as_of=T2) == NOW


@pytest.mark.parametrize("torn", [True, False])
def test_a_damaged_base_file_is_named(table: HudiTable, torn: bool) -> None:
    [base] = list(Folder(f"{table.base_path}/p", table.lake).glob("*.parquet"))
    data = bytearray(base.read_bytes())
    if torn:
        del data[len(data) // 2 :]
    else:
        data[4:200] = bytes(196)  # the first pages, their footer stays
    base.write_bytes(bytes(data))
    with pytest.raises(CorruptTableError, match=base.name):
        table.scan(query="read_optimized").to_arrow()
