"""What becomes of records that come with another partition than their stored ones."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.merge.payload import EVENT_TIME, OVERWRITE, Payload
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.write.direct.moved_rows import MovedRows
from spark_jobs.write.direct.tagged import NEW
from spark_jobs.write.tasks import BUCKET
from tests.support.folder import Folder
from tests.unit.core.support import complete, context_of, new_table, rows, scope, start

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("payload", [OVERWRITE, EVENT_TIME], ids=["overwrite", "event time"])
def test_what_becomes_of_records_that_come_with_another_partition(root: Folder, payload: Payload) -> None:
    """k1 is newer than what is stored, k2 older, k3 is gone meanwhile."""
    table = new_table(root / "t", merge_on_read=False)
    inflight = start(table, "20240101000000000", Action.COMMIT)
    context = context_of(table, inflight.timestamp, payload)
    handle = CreateHandle(context, scope(), "a", "f")
    handle.write(rows(("k1", 5, "stored"), ("k2", 5, "stored"), ("k4", 5, "stored")))
    complete(table, inflight, handle.close())
    table = table.refreshed()
    moved = MovedRows(
        context=context, reader=slice_reader(table, context), slices=dict(enumerate(table.view().latest_slices()))
    )
    incoming = rows(("k1", 6, "new"), ("k2", 4, "late"), ("k3", 6, "new"), partition="b")
    found = moved.settle(0, incoming).to_pylist()
    told = {(one["id"], one["_hoodie_partition_path"], one[BUCKET]) for one in found}
    goes = {("k1", "b", 0), ("k1", "b", NEW), ("k3", "b", NEW)}
    late = {("k2", "b", 0), ("k2", "b", NEW)} if payload is OVERWRITE else set()
    assert told == goes | late
