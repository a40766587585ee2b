"""Column statistics leave out no file whose timestamps have another unit than the table has by now."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spark_jobs.core.format.instant import Action
from spark_jobs.core.read.table_schema import schema_metadata
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.transaction.transaction import begin
from tests.support.folder import Folder, file_at
from tests.unit.core.schema.altered import make, write

pytestmark = pytest.mark.unit

WITH_STATISTICS = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
AT = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


def table_of(path: Folder, stored: pa.DataType, now: pa.DataType) -> HudiTable:
    """A file with one type and statistics, then a commit that gives the table the other, as Hudi does for a source."""
    table = make(path, merge_on_read=False)
    write(table, pa.table({"id": ["a"], "ts": [0], "x": pa.array([AT], stored)}))
    transaction = begin(table.refreshed().transaction_settings(WITH_STATISTICS), Action.COMMIT)
    assert transaction is not None
    transaction.to_inflight(b"")
    avro = avro_schema_of(pa.schema([("id", pa.string()), ("ts", pa.int64()), ("x", now)]), "t")
    metadata = CommitMetadata(operation_type=OperationType.UPSERT, extra_metadata=schema_metadata(avro, None))
    transaction.publish(metadata.payload(), written=frozenset())
    table = table.refreshed()
    assert "column_stats" in table.config.metadata_partitions
    return table


def kept(table: HudiTable, condition: pc.Expression) -> int:
    return len(table.scan(filter=condition).slices())


@pytest.mark.parametrize("zone", ["UTC", None])
@pytest.mark.parametrize(("stored", "now"), [("ms", "us"), ("us", "ms")])
def test_a_file_of_another_unit_stays(root: Folder, stored: str, now: str, zone: str | None) -> None:
    table = table_of(root, pa.timestamp(stored, zone), pa.timestamp(now, zone))
    at = AT if zone else AT.replace(tzinfo=None)
    for limit in (at - DAY, at, at + DAY):
        for condition in (pc.field("x") >= pa.scalar(limit, pa.timestamp(now, zone)), pc.field("x") <= limit):
            everything = HudiTable.open(table.base_path, lake=table.lake, lists_storage=True)
            found = table.scan(filter=condition).to_arrow()
            assert found.equals(everything.scan(filter=condition).to_arrow())
            assert kept(table, condition) == 1
    assert kept(table, pc.field("id") == "b") == 0  # by other columns it is judged
    assert kept(table, (pc.field("id") == "b") & (pc.field("x") >= at)) == 0


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_a_file_of_the_table_s_unit_is_judged(root: Folder, unit: str) -> None:
    kind = pa.timestamp(unit, "UTC")
    table = table_of(root, kind, kind)
    assert kept(table, pc.field("x") > pa.scalar(AT, kind)) == 0
    assert kept(table, pc.field("x") >= pa.scalar(AT, kind)) == 1


def test_an_unreadable_file_stays_for_the_reader_to_tell(root: Folder) -> None:
    kind = pa.timestamp("us", "UTC")
    table = table_of(root, kind, kind)
    for file in file_at(table.storage, table.base_path, "p").glob("*.parquet"):
        file.write_bytes(b"")
    assert kept(table, pc.field("x") > pa.scalar(AT, kind)) == 1
