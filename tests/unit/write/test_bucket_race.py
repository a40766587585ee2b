"""Two writers of a table with a bucket index that begin the same bucket at the same time."""

from __future__ import annotations

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.index.buckets import file_id_of, place_of_bucket
from spark_jobs.core.schema.reconcile import WriterSchema
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import Transaction, begin
from spark_jobs.engine.progress import Progress
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import resolve
from spark_jobs.write.publish import Written, publish
from spark_jobs.write.stored_schema import StoredSchema
from tests.support.folder import Folder
from tests.unit.core.support import AVRO, contents, context_of, new_table, rows, scope

pytestmark = pytest.mark.unit


@pytest.fixture
def table(root: Folder) -> HudiTable:
    return new_table(root / "t", merge_on_read=False, clock=SYSTEM_CLOCK)


def two_writers(table: HudiTable) -> list[Transaction]:
    begun = [begin(table.transaction_settings({}), Action.COMMIT) for _ in range(2)]
    transactions = [one for one in begun if one is not None]
    for one in transactions:
        one.to_inflight()
    return transactions


def insert(table: HudiTable, transaction: Transaction, index: str, bucket: int) -> None:
    """One record in a new file group that the bucket index begins, or any other index."""
    config = resolve(
        IngestOptions(base_path=table.base_path, hoodie_conf={"hoodie.index.type": index}), table, table.lake
    )
    file_id = file_id_of(bucket, SYSTEM_CLOCK.new_uuid())
    handle = CreateHandle(context_of(table, transaction.time), scope(), "a", file_id)
    handle.write(rows((f"k{bucket}", 1, transaction.time)))
    prepared = StoredSchema(config=config, schema=WriterSchema(avro=AVRO), evolution=None)
    publish(config, table, prepared, transaction, Written(stats=handle.close()), Progress("ingest"))


def test_the_second_of_two_that_begin_one_bucket_is_refused(table: HudiTable) -> None:
    first, second = two_writers(table)
    insert(table, first, "BUCKET", 2)
    with pytest.raises(WriteConflictError, match=f"{second.time} and {first.time}.* both changed 1 file group"):
        insert(table, second, "BUCKET", 2)
    second.abandon()
    assert [key for key, _, _ in contents(table)] == ["k2"]


@pytest.mark.parametrize(("index", "bucket"), [("BUCKET", 3), ("SIMPLE", 3)])
def test_other_buckets_and_other_indexes_are_no_conflict(table: HudiTable, index: str, bucket: int) -> None:
    first, second = two_writers(table)
    insert(table, first, index, 2)
    insert(table, second, index, bucket)
    assert [key for key, _, _ in contents(table)] == ["k2", f"k{bucket}"]


def test_the_place_of_a_group() -> None:
    groups = [("a", "00000002-9d93-0"), ("a", "00000002-f5ff-0"), ("b", "00000002-9d93-0"), ("a", "e0000002-9d93-0")]
    assert [place_of_bucket(one) for one in groups] == [
        ("a", "00000002"),
        ("a", "00000002"),
        ("b", "00000002"),
        ("a", "e0000002-9d93-0"),
    ]
