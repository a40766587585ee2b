"""Create, merge, append on real files: rows in, files, markers and write stats out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from spark_jobs.core.errors import AlreadyExistsError
from spark_jobs.core.files.base_file import footer_index, open_base_file
from spark_jobs.core.files.markers import read_markers
from spark_jobs.core.files.partition_metafile import list_partitions
from spark_jobs.core.format.v6.file_names import parse_base_file_name
from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import WriteContext, stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import concatenate_base_file, merge_base_file
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.payload import EVENT_TIME
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import BaseFile
from tests.support.folder import Folder, file_at
from tests.unit.core.logs import scan_log_files
from tests.unit.core.support import SCHEMA, context_of, new_table, rows, scope

pytestmark = pytest.mark.unit

PREFIX = "00000000-0000-0000-0000-000000000001"


@pytest.fixture
def context(root: Folder) -> WriteContext:
    return context_of(new_table(root / "t"), "100")


def create(context: WriteContext, table: pa.Table, partition: str = "a") -> list[WriteStat]:
    handle = CreateHandle(context, scope(), partition, PREFIX)
    handle.write(table)
    return handle.close()


def base_of(stat: WriteStat) -> BaseFile:
    name = parse_base_file_name(stat.file_name)
    assert name is not None
    return BaseFile(stat.partition_path, name, stat.file_size_in_bytes)


def read(context: WriteContext, stat: WriteStat) -> pa.Table:
    table = open_base_file(context.storage, f"{context.base_path}/{stat.path}").read()
    assert table.schema.names == SCHEMA.names
    assert set(table.column("_hoodie_file_name").to_pylist()) <= {stat.file_name}
    return table


def own(table: pa.Table) -> list[tuple[str, int, str]]:
    return [(row["id"], row["ts"], row["value"]) for row in table.to_pylist()]


def changes(context: WriteContext, table: pa.Table, deleted: list[bool]) -> Changes:
    return Changes(stamp(table, context, scope(7), "a", ""), np.array(deleted, bool))


def test_a_new_file_with_its_meta_columns_footer_marker_and_stat(context: WriteContext) -> None:
    (stat,) = create(context, rows(("k2", 1, "x"), ("k1", 2, "y")))
    assert (stat.file_id, stat.path) == (f"{PREFIX}-0", f"a/{PREFIX}-0_0-1-1_100.parquet")
    assert (stat.prev_commit, stat.num_writes, stat.num_inserts) == ("null", 2, 2)
    assert stat.file_size_in_bytes == file_at(context.storage, context.base_path, str(stat.path)).size
    found = read(context, stat)
    assert own(found) == [("k2", 1, "x"), ("k1", 2, "y")]
    assert found.column("_hoodie_commit_seqno").to_pylist() == ["100_0_0", "100_0_1"]
    assert found.column("_hoodie_record_key").to_pylist() == ["k2", "k1"]
    index = footer_index(open_base_file(context.storage, f"{context.base_path}/{stat.path}"))
    assert index.key_range == ("k1", "k2")
    assert index.bloom is not None
    assert index.bloom.contains(pa.array(["k1", "k2"])).tolist() == [True, True]
    markers = read_markers(context.storage, context.base_path, "100")
    assert [marker.data_path for marker in markers or []] == [stat.path]
    assert list_partitions(context.storage, context.base_path) == ["a"]


def test_a_full_file_is_followed_by_the_next_of_the_same_prefix(root: Folder) -> None:
    context = context_of(new_table(root / "t"), "100", max_file_size=1)
    handle = CreateHandle(context, scope(), "a", PREFIX)
    for number in range(3):
        handle.write(rows((f"k{number}", 1, "x" * 100_000)))
    handle.write(rows())
    stats = handle.close()
    assert [stat.file_id for stat in stats] == [f"{PREFIX}-{n}" for n in range(len(stats))]
    assert handle.next_suffix == len(stats)
    assert sum(stat.num_writes for stat in stats) == 3
    sequence = [number for stat in stats for number in read(context, stat).column("_hoodie_commit_seqno").to_pylist()]
    assert sequence == ["100_0_0", "100_0_1", "100_0_2"]


@pytest.mark.parametrize("file_id", ["00000000-0000-0000-0000-00000000000a", f"{PREFIX}-007", "plain"])
def test_a_file_keeps_a_whole_file_id_whatever_its_size(root: Folder, file_id: str) -> None:
    context = context_of(new_table(root / "t"), "100", max_file_size=1)
    handle = CreateHandle(context, scope(), "a", file_id, whole_id=True)
    for number in range(3):
        handle.write(rows((f"k{number}", 1, "x" * 100_000)))
    (stat,) = handle.close()
    assert (stat.file_id, stat.num_writes) == (file_id, 3)
    assert stat.file_name == f"{file_id}_0-1-1_100.parquet"


def test_no_rows_no_file(context: WriteContext) -> None:
    assert create(context, rows()) == []
    assert read_markers(context.storage, context.base_path, "100") is None


def test_the_same_attempt_does_not_make_a_file_twice(context: WriteContext) -> None:
    create(context, rows(("k", 1, "x")))
    with pytest.raises(AlreadyExistsError):
        create(context, rows(("k", 1, "x")))


def test_a_merge_lays_changes_over_the_old_rows(context: WriteContext, root: Folder) -> None:
    (old,) = create(context, rows(("a", 1, "old"), ("b", 1, "old"), ("c", 1, "old")))
    later = replace(context, instant="200")
    news = changes(
        later, rows(("d", 1, "new"), ("b", 2, "new"), ("a", 2, ""), ("z", 1, "")), [False, False, True, True]
    )
    stat = merge_base_file(later, scope(), base_of(old), news)
    assert (stat.file_id, stat.prev_commit) == (old.file_id, "100")
    assert (stat.num_writes, stat.num_update_writes, stat.num_inserts, stat.num_deletes) == (3, 1, 1, 1)
    found = read(later, stat)
    assert own(found) == [("b", 2, "new"), ("c", 1, "old"), ("d", 1, "new")]
    assert found.column("_hoodie_commit_time").to_pylist() == ["200", "100", "200"]
    index = footer_index(open_base_file(later.storage, f"{later.base_path}/{stat.path}"))
    assert index.key_range == ("a", "d")  # may be wider than the rows
    assert index.bloom is not None
    assert index.bloom.contains(pa.array(["b", "c", "d"])).tolist() == [True] * 3
    assert own(read(context, old)) == [("a", 1, "old"), ("b", 1, "old"), ("c", 1, "old")]


def test_a_merge_makes_the_meta_columns_of_its_records(context: WriteContext, root: Folder) -> None:
    (old,) = create(context, rows(("a", 1, "old"), ("b", 1, "old")))
    later = replace(context, instant="200")
    news = rows(("c", 1, "new"), ("b", 2, "new"), ("a", 2, ""))
    found = read(later, merge_base_file(later, scope(7), base_of(old), Changes(news, np.array([False, False, True]))))
    assert own(found) == [("b", 2, "new"), ("c", 1, "new")]
    assert found.column("_hoodie_commit_time").to_pylist() == ["200", "200"]
    assert found.column("_hoodie_commit_seqno").to_pylist() == ["200_7_0", "200_7_1"]
    assert found.column("_hoodie_partition_path").to_pylist() == ["a", "a"]


def test_a_merge_by_event_time_keeps_newer_rows(root: Folder) -> None:
    table = new_table(root / "t")
    context = context_of(table, "100", EVENT_TIME)
    (old,) = create(context, rows(("a", 5, "old"), ("b", 1, "old"), ("c", 5, "old")))
    later = context_of(table, "200", EVENT_TIME)
    news = changes(later, rows(("a", 4, "late"), ("b", 2, "new"), ("c", 4, "")), [False, False, True])
    assert own(read(later, merge_base_file(later, scope(), base_of(old), news))) == [
        ("a", 5, "old"),
        ("b", 2, "new"),
        ("c", 5, "old"),
    ]


def test_concatenation_does_not_look_at_keys(context: WriteContext, root: Folder) -> None:
    (old,) = create(context, rows(("a", 1, "old")))
    later = replace(context, instant="200")
    stat = concatenate_base_file(later, scope(), base_of(old), rows(("a", 1, "new")))
    found = read(later, stat)
    assert own(found) == [("a", 1, "old"), ("a", 1, "new")]
    assert found.column("_hoodie_commit_time").to_pylist() == ["100", "200"]
    assert (stat.num_inserts, stat.num_update_writes) == (1, 0)


def test_a_log_holds_data_then_deletes(context: WriteContext) -> None:
    target = AppendTarget(
        partition="a", file_id="g-0", base_instant="50", base_file="b.parquet", log_names=("l1",), next_version=2
    )
    both = Changes(stamp(rows(("a", 1, "x"), ("b", 2, "y")), context, scope(3), "a", "g-0"), np.array([False, True]))
    [stat] = append_changes(context, scope(3), target, both, hard_deletes=False)
    assert stat.path == "a/.g-0_50.log.2_3-1-1"
    assert (stat.log_version, stat.log_files, stat.base_file) == (2, ("l1", ".g-0_50.log.2_3-1-1"), "b.parquet")
    assert (stat.num_writes, stat.num_deletes, stat.prev_commit) == (1, 1, "50")
    path = f"{context.base_path}/{stat.path}"
    assert stat.file_size_in_bytes == file_at(context.storage, path).size
    scan = scan_log_files([("log", lambda: context.storage.open_input(path))], lambda instant: True, None, SCHEMA)
    (data,), (deletes,) = scan.data, scan.deletes
    assert own(data.table) == [("a", 1, "x")]
    assert (deletes.keys.to_pylist(), deletes.orderings.to_pylist(), deletes.instant) == (["b"], [2], "100")


def test_hard_deletes_have_no_ordering_value(context: WriteContext) -> None:
    target = AppendTarget(partition="a", file_id="g-0", base_instant="50", base_file="", log_names=(), next_version=1)
    gone = Changes(stamp(rows(("b", 2, "y")), context, scope(), "a", "g-0"), np.array([True]))
    [stat] = append_changes(context, scope(), target, gone, hard_deletes=True)
    path = f"{context.base_path}/{stat.path}"
    scan = scan_log_files([("log", lambda: context.storage.open_input(path))], lambda instant: True, None, SCHEMA)
    assert scan.deletes[0].orderings.to_pylist() == [0]
    assert pa.types.is_int32(scan.deletes[0].orderings.type)
