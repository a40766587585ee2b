"""Texts that repeat stay dictionaries through a merge, whatever the file before it has in their place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.files.base_file import open_base_file
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.repeating_texts import repeating_texts, with_dictionaries_of
from spark_jobs.core.schema.meta_fields import META_FIELDS, PARTITION_PATH, RECORD_KEY, with_meta_fields
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import BaseFile
from tests.unit.core.handles.test_handles import base_of
from tests.unit.core.support import context_of, new_table, scope

pytestmark = pytest.mark.unit

OWN = pa.schema([("id", pa.string()), ("kind", pa.string()), ("n", pa.int64())])
COLOURS = ["red", "green", None, "", "blau ü"]


def records(first: int, count: int, kinds: list[str | None]) -> pa.Table:
    ids = [f"k{number:05}" for number in range(first, first + count)]
    columns = [ids, ["a"] * count, ids, [kinds[n % len(kinds)] for n in range(count)], list(range(count))]
    schema = pa.schema([(RECORD_KEY, pa.string()), (PARTITION_PATH, pa.string()), *OWN])
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


@pytest.fixture
def context(tmp_path: Path) -> WriteContext:
    context = context_of(new_table(str(tmp_path / "t")), "100")
    return replace(context, file_format=replace(context.file_format, schema=with_meta_fields(OWN)))


def created(context: WriteContext, *tables: pa.Table) -> BaseFile:
    handle = CreateHandle(context, scope(), "a", "00000000-0000-0000-0000-000000000001")
    for table in tables:
        handle.write(table)
        handle.flush()  # a row group each
    (stat,) = handle.close()
    return base_of(stat)


def merged(context: WriteContext, base: BaseFile, rows: pa.Table) -> tuple[WriteStat, pa.Table]:
    later = replace(context, instant="200")
    stat = merge_base_file(later, scope(), base, Changes(rows, np.zeros(rows.num_rows, bool)))
    return stat, pq.read_table(f"{context.base_path}/{stat.path}")


def kinds(table: pa.Table) -> dict[str, str | None]:
    assert table.schema.field("kind").type.equals(pa.string())
    return dict(zip(table.column("id").to_pylist(), table.column("kind").to_pylist(), strict=True))


def test_updates_and_inserts_among_row_groups_of_other_dictionaries(context: WriteContext) -> None:
    parts = [records(0, 300, ["red", "green"]), records(300, 300, ["black", None]), records(600, 300, ["white"])]
    changed = pa.concat_tables([records(250, 100, COLOURS), records(890, 50, COLOURS)])
    stat, table = merged(context, created(context, *parts), changed)
    expected = kinds(pa.concat_tables(parts)) | kinds(changed)
    assert kinds(table) == expected
    assert (stat.num_update_writes, stat.num_inserts) == (110, 40)
    assert table.select(["id"]).equals(table.select([RECORD_KEY]).rename_columns(["id"]))
    assert set(table.column("_hoodie_file_name").to_pylist()) == {stat.file_name}
    assert table.column("_hoodie_commit_time").to_pylist().count("200") == 150
    with open_base_file(context.storage, f"{context.base_path}/{stat.path}") as file:
        assert file.schema_arrow.equals(pq.read_schema(f"{context.base_path}/{stat.path}"))
        column = file.metadata.row_group(0).column(len(META_FIELDS) + 1)
        assert (column.path_in_schema, column.statistics.min, column.statistics.max) == ("kind", "", "white")
        assert column.statistics.null_count == list(expected.values()).count(None)


def test_a_column_that_the_older_file_lacks(context: WriteContext) -> None:
    narrow = replace(context, file_format=replace(context.file_format, schema=with_meta_fields(pa.schema([OWN[0]]))))
    base = created(narrow, records(0, 10, COLOURS).select([RECORD_KEY, PARTITION_PATH, "id"]))
    _, table = merged(context, base, records(5, 10, ["red"]))
    assert kinds(table) == {f"k{n:05}": "red" if n >= 5 else None for n in range(15)}


def test_a_column_that_had_another_type(context: WriteContext) -> None:
    numbers = pa.schema([OWN[0], pa.field("kind", pa.int32()), OWN[2]])
    older = replace(context, file_format=replace(context.file_format, schema=with_meta_fields(numbers)))
    rows = records(0, 10, ["x"])
    base = created(older, rows.set_column(3, "kind", pa.array([7] * 10, pa.int32())))
    _, table = merged(context, base, records(5, 2, ["red"]))
    assert kinds(table) == {f"k{n:05}": "red" if n in (5, 6) else "7" for n in range(10)}


def test_which_texts_are_dictionaries() -> None:
    schema = with_meta_fields(OWN)
    named = repeating_texts(records(0, 100, COLOURS), schema)
    assert named == ["_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_file_name", "kind"]
    encoded = pa.dictionary(pa.int32(), pa.string())
    stored = pa.schema([("kind", encoded), ("n", pa.int64())])
    assert with_dictionaries_of(stored, schema).field("kind").type.equals(encoded)
    assert with_dictionaries_of(pa.schema([("kind", pa.int32())]), schema).equals(schema)
