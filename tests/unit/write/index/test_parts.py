"""The parts of the indexes that need no cluster."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.index.bucket_check import numbers_by_bucket
from spark_jobs.core.merge.payload import EVENT_TIME, OVERWRITE, Payload
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.write.index.incoming import grouped
from spark_jobs.write.index.merged_moves import MovedRows
from spark_jobs.write.tasks import BUCKET, MOVED
from tests.unit.core.support import complete, context_of, file_slice, new_table, rows, scope, start

pytestmark = pytest.mark.unit

OF_BUCKET = "0000000{}-4610-8bcd-f1b2-416c0178aaaa-0"


def test_rows_by_their_numbers() -> None:
    batches = [
        pa.RecordBatch.from_pydict({BUCKET: pa.array(numbers, pa.int32()), "v": values})
        for numbers, values in (([1, 1, 2], ["a", "b", "c"]), ([], []), ([2, 5], ["d", "e"]))
    ]
    found = [(number, part.column("v").to_pylist()) for number, part in grouped(batches)]
    assert found == [(1, ["a", "b"]), (2, ["c", "d"]), (5, ["e"])]


def test_the_groups_of_buckets() -> None:
    slices = {7: file_slice(OF_BUCKET.format(3), "1", 5), 9: file_slice(OF_BUCKET.format(3), "1", 5, partition="b")}
    assert numbers_by_bucket(slices, 4) == {("a", 3): 7, ("b", 3): 9}


def test_groups_that_are_no_buckets_are_refused() -> None:
    with pytest.raises(CorruptTableError, match="is of none of 3 buckets"):
        numbers_by_bucket({0: file_slice(OF_BUCKET.format(3), "1", 5)}, 3)
    with pytest.raises(CorruptTableError, match="is of none of 4 buckets"):
        numbers_by_bucket({0: file_slice("f", "1", 5)}, 4)
    twins = {0: file_slice(OF_BUCKET.format(1), "1", 5), 1: file_slice(OF_BUCKET.format(1) + "0", "1", 5)}
    with pytest.raises(CorruptTableError, match="are both of bucket 1"):
        numbers_by_bucket(twins, 4)


@pytest.mark.parametrize("payload", [OVERWRITE, EVENT_TIME], ids=["overwrite", "event time"])
def test_what_becomes_of_records_that_come_with_another_partition(tmp_path: Path, payload: Payload) -> None:
    """k1 is newer than what is stored, k2 older, k3 is gone meanwhile."""
    table = new_table(str(tmp_path / "t"), merge_on_read=False)
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
    told = {(one["id"], one["_hoodie_partition_path"], one[BUCKET], one[MOVED]) for one in found}
    goes = {("k1", "a", 0, True), ("k1", "b", None, False), ("k3", "b", None, False)}
    late = {("k2", "a", 0, True), ("k2", "b", None, False)} if payload is OVERWRITE else set()
    assert told == goes | late
