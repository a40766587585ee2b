"""Tables whose schema is changed between writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from spark_jobs.core.alter import alter_schema
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.files.write_format import base_file_format
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.handles.append import append_changes, append_target
from spark_jobs.core.handles.context import WriteContext, stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.payload import OVERWRITE
from spark_jobs.core.read.table_schema import add_to_history, schema_metadata
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.schema.internal import InternalSchema
from spark_jobs.core.schema.meta_fields import META_FIELDS, PARTITION_PATH, RECORD_KEY
from spark_jobs.core.schema.reconcile import SchemaRules, deduce_writer_schema
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import request, transition
from tests.support.folder import Folder
from tests.unit.core.support import next_time, scope

BARE = {"hoodie.metadata.enable": "false"}
"""Without a metadata table, which :func:`write` would not keep."""
PARTITION = "p"


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
    time = next_time(table)
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
