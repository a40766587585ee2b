"""Tables with virtual keys: meta columns stay empty on disk, and everything still finds its records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spark_jobs.core.files.base_file import footer_index, open_base_file
from spark_jobs.core.files.log_reader import LogData, LogDeletes
from spark_jobs.core.format.v6.file_names import parse_base_file_name
from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import WriteContext, stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.keygen.virtual import virtual_keys_of
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import BaseFile
from spark_jobs.services.compaction.execute import Compactor
from spark_jobs.services.rewriting.context import rewrite_context, slice_reader
from tests.support.folder import Folder
from tests.unit.core.logs import scan_log_files
from tests.unit.core.support import SCHEMA, complete, contents, context_of, new_table, rows, scope, start

pytestmark = pytest.mark.unit

PREFIX = "00000000-0000-0000-0000-000000000001"
T1, T2, T3 = "20240101000000000", "20240102000000000", "20240103000000000"
NOTHING = dict.fromkeys(META_FIELDS)


@pytest.fixture
def table(root: Folder) -> HudiTable:
    return new_table(root / "t", properties={"hoodie.populate.meta.fields": "false"})


def virtual_context(table: HudiTable, instant: str) -> WriteContext:
    return rewrite_context(table, {}, instant, max_file_size=1 << 30)


def first_write(table: HudiTable) -> BaseFile:
    work = start(table, T1)
    usual = context_of(table, T1)
    context = replace(
        usual, virtual_keys=virtual_keys_of(table.config), file_format=replace(usual.file_format, bloom=None)
    )
    handle = CreateHandle(context, scope(), "a", PREFIX)
    handle.write(rows(("a", 1, "one"), ("b", 1, "one")))
    (stat,) = handle.close()
    complete(table, work, [stat])
    return base_of(stat)


def base_of(stat: WriteStat) -> BaseFile:
    name = parse_base_file_name(stat.file_name)
    assert name is not None
    return BaseFile(stat.partition_path, name, stat.file_size_in_bytes)


def changes_of(context: WriteContext, *records: tuple[str, int, str], deleted: tuple[bool, ...]) -> Changes:
    return Changes(stamp(rows(*records), context, scope(), "a", ""), np.array(deleted))


def test_base_files_hold_no_keys(table: HudiTable) -> None:
    base = first_write(table)
    context = virtual_context(table.refreshed(), T2)
    work = start(table, T2)
    news = changes_of(context, ("b", 2, "two"), ("c", 2, "two"), ("a", 2, ""), deleted=(False, False, True))
    stat = merge_base_file(context, scope(), base, news)
    complete(table, work, [stat])
    assert (stat.num_update_writes, stat.num_inserts, stat.num_deletes) == (1, 1, 1)
    file = open_base_file(table.storage, f"{table.base_path}/{stat.path}")
    assert footer_index(file).key_range is None
    assert footer_index(file).bloom is None
    stored = file.read().select(META_FIELDS).to_pylist()
    assert stored == [{**NOTHING, "_hoodie_file_name": stat.file_name}] * 2
    assert contents(table) == [("b", 2, "two"), ("c", 2, "two")]


def test_logs_hold_no_keys_and_are_merged_and_compacted(table: HudiTable) -> None:
    base = first_write(table)
    context = virtual_context(table.refreshed(), T2)
    work = start(table, T2)
    file_id = base.name.file_id
    target = AppendTarget(
        partition="a", file_id=file_id, base_instant=T1, base_file=str(base.name), log_names=(), next_version=1
    )
    news = changes_of(context, ("b", 2, "two"), ("c", 2, "two"), ("a", 2, ""), deleted=(False, False, True))
    found = append_changes(context, scope(), target, news, hard_deletes=False)
    stats = found if isinstance(found, list) else [found]
    complete(table, work, stats)
    path = f"{table.base_path}/{stats[0].path}"
    log = scan_log_files(
        [(stats[0].file_name, lambda: table.storage.open_input(path))],
        is_valid_instant=lambda _: True,
        max_instant=None,
        target_schema=SCHEMA,
    )
    data, deletes = log.entries
    assert isinstance(data, LogData)
    assert data.table.select(META_FIELDS).to_pylist() == [NOTHING] * 2
    assert isinstance(deletes, LogDeletes)
    assert (deletes.keys.to_pylist(), deletes.partitions.to_pylist()) == (["a"], ["a"])
    expected = [("b", 2, "two"), ("c", 2, "two")]
    assert contents(table) == expected
    assert [row["_hoodie_record_key"] for row in table.refreshed().scan().to_arrow().to_pylist()] == [None, None]

    later = table.refreshed()
    context = virtual_context(later, T3)
    work = start(table, T3)
    (file_slice,) = later.file_slices()
    compacted = Compactor(context, slice_reader(later, context))(file_slice, scope())
    complete(table, work, compacted)
    assert contents(table, query="read_optimized") == expected
