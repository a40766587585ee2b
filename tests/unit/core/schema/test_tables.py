"""Whole tables whose schema changes between writes: every query, before and after compaction and clustering."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from spark_jobs.core.alter import alter_schema
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.files.write_format import base_file_format
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.handles.append import append_changes, append_target
from spark_jobs.core.handles.context import WriteContext, stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.payload import OVERWRITE
from spark_jobs.core.read.table_schema import add_to_history, schema_metadata
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of, without_meta_fields
from spark_jobs.core.schema.changes import add_column, drop_column, move_column, rename_column, widen_column
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.schema.history import LATEST_SCHEMA_KEY
from spark_jobs.core.schema.internal import InternalSchema
from spark_jobs.core.schema.meta_fields import META_FIELDS, PARTITION_PATH, RECORD_KEY
from spark_jobs.core.schema.reconcile import SchemaRules, deduce_writer_schema
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from tests.interop.schema_rows import STEPS, TYPED, stepped, typed
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.unit.core.support import scope

pytestmark = pytest.mark.unit

ENGINE = LocalEngine(SYSTEM_CLOCK)
BARE = {"hoodie.metadata.enable": "false"}
"""Without a metadata table, which :func:`write` would not keep."""
AT_ONCE = {
    **BARE,
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.async.max.commits": "1",
}
PARTITION = "p"
KINDS = pytest.mark.parametrize("merge_on_read", [True, False], ids=["mor", "cow"])


def make(path: Folder, *, merge_on_read: bool) -> HudiTable:
    return HudiTable.create(
        str(path / "t"),
        name="t",
        table_type="MERGE_ON_READ" if merge_on_read else "COPY_ON_WRITE",
        record_key_fields=["id"],
        partition_fields=["part"],
        precombine_field="ts",
        lake=path.lake,
    )


def write(table: HudiTable, rows: pa.Table, rules: SchemaRules | None = None) -> str:
    """Insert the first rows of a table as one file group, later ones into it: as a log, or as its next base file."""
    table = table.refreshed()
    known, evolution = table.known_avro_schema(), table.evolution_at()
    schema = deduce_writer_schema(
        known, avro_schema_of(rows.schema, "t"), rules or SchemaRules(), evolution.wanted if evolution else None
    )
    time = next_instant_time(SYSTEM_CLOCK.now(), table.config.timezone, table.timeline.last_time)
    of_files = None
    if evolution and schema.internal:
        of_files = SchemaEvolution(versions=evolution.versions, wanted=schema.internal)
    context = WriteContext(
        storage=table.storage,
        base_path=table.base_path,
        format=VERSION_6,
        instant=time,
        file_format=base_file_format({}, arrow_schema_of(schema.avro), schema.avro),
        payload=OVERWRITE,
        ordering_field="ts",
        max_file_size=1 << 30,
        evolution=of_files,
    )
    data = conform(rows, arrow_schema_of(schema.avro))
    keyed = data.append_column(RECORD_KEY, rows["id"]).append_column(
        PARTITION_PATH, pa.repeat(pa.scalar(PARTITION), rows.num_rows)
    )
    action = Action.DELTA_COMMIT if table.config.is_merge_on_read else Action.COMMIT
    work = transition(table.timeline, request(table.timeline, time, action), State.INFLIGHT, b"")
    view = table.view()
    slices = list(view.latest_slices())
    if not slices:
        handle = CreateHandle(context, scope(), PARTITION, SYSTEM_CLOCK.new_uuid())
        handle.write(keyed)
        stats = handle.close()
    else:
        changes = Changes(stamp(keyed, context, scope(), PARTITION, ""), np.zeros(rows.num_rows, bool))
        if table.config.is_merge_on_read:
            target = append_target(view, slices[0], None)
            stats = append_changes(context, scope(), target, changes, hard_deletes=False)
        else:
            base = slices[0].base_file
            assert base is not None
            stats = [merge_base_file(context, scope(), base, changes)]
    internal = schema.internal
    if internal is not None:
        internal = internal if internal.version else internal.at(int(time))
        add_to_history(table.storage, table.base_path, table.timeline, time, evolution, internal)
    metadata = CommitMetadata(
        write_stats=tuple(stats),
        operation_type=OperationType.UPSERT,
        extra_metadata=schema_metadata(schema.avro, internal),
    )
    transition(table.timeline, work, State.COMPLETED, metadata.payload())
    return time


def alter(table: HudiTable, change: Callable[[InternalSchema], InternalSchema]) -> Instant:
    return alter_schema(table, change, BARE)


def rows_of(table: HudiTable, **query: Any) -> dict[str, dict[str, Any]]:
    found = table.refreshed().scan(**query).to_arrow().drop(list(META_FIELDS)).to_pylist()
    return {row["id"]: row for row in found}


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


XY = pa.struct([("x", pa.int32()), ("y", pa.string())])
V0 = pa.table(
    {
        "id": ["a", "b", "c"],
        "ts": [0, 0, 0],
        "n": pa.array([1, 2, None], pa.int32()),
        "gone": ["x", "y", "z"],
        "s": pa.array([{"x": 1, "y": "p"}, None, {"x": 3, "y": None}], XY),
    }
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
