"""Whole tables whose schema changes between writes: every query, before and after compaction and clustering."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.avro import without_meta_fields
from spark_jobs.core.schema.changes import add_column, drop_column, move_column, rename_column, widen_column
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.schema.history import LATEST_SCHEMA_KEY
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from tests.interop.schema_rows import STEPS, TYPED, stepped, typed
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.unit.core.schema.altered import BARE, V0, alter, make, rows_of, write

pytestmark = pytest.mark.unit

ENGINE = LocalEngine(SYSTEM_CLOCK)
AT_ONCE = {
    **BARE,
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.async.max.commits": "1",
}
KINDS = pytest.mark.parametrize("merge_on_read", [True, False], ids=["mor", "cow"])


def compact(table: HudiTable) -> None:
    options = CompactionOptions(base_path=table.base_path, hoodie_conf=tuple(AT_ONCE.items()))
    assert run_compaction(options, job_context(engine=ENGINE, lake=table.lake)).instant


def cluster(table: HudiTable) -> None:
    options = ClusteringOptions(base_path=table.base_path, hoodie_conf=tuple(AT_ONCE.items()))
    assert run_clustering(options, job_context(engine=ENGINE, lake=table.lake)).instant


def rewritten(table: HudiTable) -> None:
    """All services that rewrite files change no row."""
    before = rows_of(table)
    if table.config.is_merge_on_read:
        compact(table)
        assert rows_of(table) == before
        assert rows_of(table, query="read_optimized") == before
    cluster(table)
    assert rows_of(table) == before


def by_id(rows: pa.Table) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows.to_pylist()}


def with_nulls_in_lists(rows: pa.Table) -> pa.Table:
    more = {"id": "with nulls", "ts": 9, "p": 0, "words": ["a", None], "grid": [None, [None, 1]], "stops": [None]}
    return pa.concat_tables([rows, pa.Table.from_pylist([more], schema=TYPED)])


@KINDS
def test_all_types_through_base_files_logs_and_services(root: Folder, merge_on_read: bool) -> None:
    table = make(root, merge_on_read=merge_on_read)
    first, second = with_nulls_in_lists(typed(range(30))), typed(range(0, 40, 3), 1)
    write(table, first)
    write(table, second)
    wanted = by_id(first) | by_id(second)
    assert rows_of(table) == wanted
    assert rows_of(table, query="read_optimized") == (by_id(first) if merge_on_read else wanted)
    rewritten(table)


@KINDS
def test_days_before_the_gregorian_calendar_are_counted_on_backwards(root: Folder, merge_on_read: bool) -> None:
    rows = pa.table(
        {
            "id": ["a", "b"],
            "ts": [0, 0],
            "day": [dt.date(1, 1, 1), dt.date(1500, 2, 28)],
            "at": pa.array([dt.datetime(1, 1, 1), dt.datetime(1582, 10, 4)], pa.timestamp("us", tz="UTC")),
        }
    )
    table = make(root, merge_on_read=merge_on_read)
    write(table, rows)
    write(table, rows.slice(1))
    assert rows_of(table) == by_id(rows)


@KINDS
def test_columns_added_promoted_and_moved_on_write(root: Folder, merge_on_read: bool) -> None:
    table = make(root, merge_on_read=merge_on_read)
    wanted: dict[str, dict[str, Any]] = {}
    for step in range(len(STEPS)):
        rows = stepped(step, range(step, 20, 1 + 2 * step))
        write(table, rows)
        wanted = {**wanted, **by_id(rows)}
        assert table.refreshed().schema.names == rows.schema.names
    last = table.refreshed().schema
    found = rows_of(table)
    assert found == {
        key: conform(pa.Table.from_pylist([row], schema=_schema_of(row)), last).to_pylist()[0]
        for key, row in wanted.items()
    }
    assert found["k001"]["c"] == 16_778_218.0
    rewritten(table)


def _schema_of(row: dict[str, Any]) -> pa.Schema:
    return next(
        schema
        for schema in reversed(STEPS)
        if set(schema.names) == set(row)
        and all(pa.types.is_floating(schema.field(name).type) == isinstance(row[name], float) for name in ("c", "f"))
    )


@KINDS
def test_columns_altered_on_read(root: Folder, merge_on_read: bool) -> None:
    table = make(root, merge_on_read=merge_on_read)
    first = write(table, V0)
    alter(table, lambda schema: rename_column(drop_column(schema, "gone"), "n", "number"))
    alter(table, lambda schema: rename_column(widen_column(schema, "number", "long"), "s.x", "z"))
    nested = pa.struct([("z", pa.int32()), ("y", pa.string())])
    assert rows_of(table) == {
        "a": {"id": "a", "ts": 0, "number": 1, "s": {"z": 1, "y": "p"}},
        "b": {"id": "b", "ts": 0, "number": 2, "s": None},
        "c": {"id": "c", "ts": 0, "number": None, "s": {"z": 3, "y": None}},
    }
    assert rows_of(table, as_of=first) == by_id(V0)
    changed = pa.table(
        {"id": ["b"], "ts": [1], "number": [2**40], "s": pa.array([{"z": 5, "y": "q"}], nested)},
    )
    write(table, changed)
    alter(table, lambda schema: move_column(add_column(schema, "gone", "long"), "number", before="id"))
    now = table.refreshed()
    assert now.schema.names == ["number", "id", "ts", "s", "gone"]
    assert now.scan(columns=("gone",)).to_arrow()["gone"].to_pylist() == [None, None, None]
    assert rows_of(table)["a"] == {"number": 1, "id": "a", "ts": 0, "s": {"z": 1, "y": "p"}, "gone": None}
    assert rows_of(table)["b"] == {"number": 2**40, "id": "b", "ts": 1, "s": {"z": 5, "y": "q"}, "gone": None}
    more = pa.table(
        {"number": [7], "id": ["c"], "ts": [2], "s": pa.nulls(1, nested), "gone": [8], "later": ["new"]},
    )
    write(table, more)
    assert rows_of(table)["c"] == {"number": 7, "id": "c", "ts": 2, "s": None, "gone": 8, "later": "new"}
    rewritten(table)
    assert rows_of(table, as_of=first) == by_id(V0)
    newest = table.refreshed().timeline.completed_commits()[-1]
    metadata = table.refreshed().timeline.commit_metadata(newest, SYSTEM_CLOCK)
    assert LATEST_SCHEMA_KEY in metadata.extra_metadata  # of the clustering: Hudi looks in the newest of any kind


def by_name(table: HudiTable) -> bool:
    """Whether a plain Parquet reader may read the table's one slice."""
    scan = table.refreshed().scan()
    slices = scan.slices()
    assert len(slices) == 1
    return bool(scan.read_by_name(slices))


def test_which_slices_any_parquet_reader_may_read(root: Folder) -> None:
    table = make(root, merge_on_read=False)
    write(table, V0)
    assert by_name(table)
    alter(table, lambda schema: move_column(add_column(schema, "new", "int"), "n", after="id"))
    assert not by_name(table)  # its file has no "new", but the history says so too: it is not looked for by name
    alter(table, lambda schema: rename_column(schema, "n", "number"))
    assert not by_name(table)
    write(table, table.refreshed().scan().to_arrow().drop(list(META_FIELDS)))
    assert by_name(table)


def test_widened_files_and_logs_are_not_for_any_parquet_reader(root: Folder) -> None:
    table = make(root, merge_on_read=True)
    write(table, V0)
    write(table, V0.slice(0, 1))
    assert not by_name(table)
    compact(table)
    assert by_name(table)
    write(table, V0.slice(0, 1).set_column(2, "n", pa.array([5], pa.int64())))
    scan = table.refreshed().scan(query="read_optimized")
    assert scan.read_by_name(scan.slices()) == []
    compact(table)
    assert by_name(table)


def test_a_compaction_planned_before_an_alteration_writes_the_schema_of_its_plan(root: Folder) -> None:
    table = make(root, merge_on_read=True)
    write(table, V0)
    write(table, V0.slice(0, 1))
    conf = tuple(AT_ONCE.items())
    planned = CompactionOptions(base_path=table.base_path, hoodie_conf=conf, mode="schedule")  # type: ignore[arg-type]
    assert run_compaction(planned, job_context(engine=ENGINE, lake=root.lake)).instant
    alter(table, lambda schema: rename_column(schema, "n", "number"))
    before = rows_of(table)
    executed = CompactionOptions(base_path=table.base_path, hoodie_conf=conf, mode="execute")  # type: ignore[arg-type]
    assert run_compaction(executed, job_context(engine=ENGINE, lake=root.lake)).instant
    assert rows_of(table) == before
    assert before["a"]["number"] == 1


def test_an_alteration_leaves_what_hudi_s_own_leaves(root: Folder) -> None:
    table = make(root, merge_on_read=True)
    write(table, V0)
    done = alter(table, lambda schema: add_column(schema, "new", "int", "a comment", after="ts"))
    metadata = table.refreshed().timeline.commit_metadata(done, SYSTEM_CLOCK)
    assert metadata.operation_type is OperationType.ALTER_SCHEMA
    assert metadata.write_stats == ()
    names = [field["name"] for field in json.loads(metadata.schema_text)["fields"]]
    assert names == [*META_FIELDS, "id", "ts", "new", "n", "gone", "s"]
    latest = json.loads(metadata.extra_metadata[LATEST_SCHEMA_KEY] or "")
    assert latest["version_id"] == int(done.timestamp)
    folder = file_at(table.storage, table.base_path, ".hoodie", ".schema")
    history = json.loads((folder / f"{done.timestamp}.schemacommit").read_text())
    assert [one["version_id"] for one in history["schemas"]] == [int(done.timestamp), 0]
    assert without_meta_fields(json.loads(metadata.schema_text)) == table.refreshed().avro_schema


@pytest.mark.parametrize("name", ["id", "ts"])
def test_keys_and_ordering_stay_as_they_are(root: Folder, name: str) -> None:
    table = make(root, merge_on_read=False)
    write(table, V0)
    for change in (lambda schema: drop_column(schema, name), lambda schema: rename_column(schema, name, "other")):
        with pytest.raises(ConfigError, match=f"column {name} is part of the key"):
            alter(table, change)
    assert table.refreshed().evolution_at() is None
    assert len(table.refreshed().timeline.instants) == 1


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_local_timestamps_and_longs_become_each_other(root: Folder, unit: str) -> None:
    at = dt.datetime(1970, 1, 1, 0, 0, 5)
    ticks = 5_000 if unit == "ms" else 5_000_000
    local, counted = pa.array([at], pa.timestamp(unit)), pa.array([ticks], pa.int64())
    for name, first, second, kept in (("a", local, counted, at), ("b", counted, local, ticks)):
        table = make(root / name, merge_on_read=True)
        write(table, pa.table({"id": ["a"], "ts": [0], "x": first}))
        write(table, pa.table({"id": ["b"], "ts": [0], "x": second}))
        assert table.refreshed().schema.field("x").type == first.type
        assert {row["x"] for row in rows_of(table).values()} == {kept}
        with pytest.raises(ConfigError, match="column x is timestamp in the source and long in the table"):
            write(table, pa.table({"id": ["c"], "ts": [0], "x": pa.array([at], pa.timestamp(unit, tz="UTC"))}))
