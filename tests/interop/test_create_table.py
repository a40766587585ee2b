"""A table of our DDL is Hudi's own to Spark SQL, and a table of Hudi's DDL is ours to write."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.table import HudiTable
from spark_jobs.ddl import create_table_from_ddl
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.ingest import ingest
from tests.interop.our_reader import read
from tests.interop.real_hudi import RealHudi
from tests.interop.tending import tended_by_hudi

COLUMNS = (
    "id bigint not null, amount decimal(12,3), at timestamp, tags array<string>, sizes map<string,int>, "
    "place struct<city: string, zip: int>, day date, ts bigint"
)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("amount", pa.decimal128(12, 3)),
        ("at", pa.timestamp("us", tz="UTC")),
        ("tags", pa.list_(pa.string())),
        ("sizes", pa.map_(pa.string(), pa.int32())),
        ("place", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
        ("day", pa.date32()),
        ("ts", pa.int64()),
    ]
)
Row = dict[str, Any]


def ddl(name: str, table_type: str) -> str:
    return (
        f"create table {name} ({COLUMNS}) using hudi partitioned by (day) "
        f"tblproperties (type = '{table_type}', primaryKey = 'id', preCombineField = 'ts')"
    )


def row(key: int, amount: str, ts: int) -> Row:
    return {
        "id": key,
        "amount": Decimal(amount),
        "at": datetime(1969, 12, 31, 23, 59, key, 123456, tzinfo=UTC),
        "tags": ["a", f"t{key}"],  # Hudi's writer fails on a null in a list
        "sizes": [("x", key)],
        "place": {"city": f"c{key}", "zip": None},
        "day": date(2024, 1, 1 + key % 2),
        "ts": ts,
    }


def sql_values(one: Row) -> str:
    """The row as SQL, its columns in the order of the table: the partition column last."""
    return (
        f"{one['id']}L, cast('{one['amount']}' as decimal(12,3)), timestamp '{one['at']:%Y-%m-%d %H:%M:%S.%f}+00:00', "
        f"array('a', 't{one['id']}'), map('x', {one['id']}), "
        f"named_struct('city', 'c{one['id']}', 'zip', cast(null as int)), {one['ts']}L, date '{one['day']}'"
    )


def write(spark: SparkSession, path: Path, scratch: Path, rows: list[Row]) -> None:
    source = scratch / f"{uuid4()}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), source)
    ingest(
        spark,
        IngestOptions(base_path=str(path), source_format="parquet", source=(str(source),), op=Operation.UPSERT),
    )


def by_key(table: pa.Table) -> dict[int, Row]:
    names = [name for name in table.column_names if not name.startswith("_hoodie_")]
    return {one["id"]: one for one in table.select(names).to_pylist()}


def expected(*rows: Row) -> dict[int, Row]:
    return {one["id"]: one for one in rows}


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_hudi_writes_to_a_table_of_our_ddl(
    table_type: str, real_hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    name = f"of_ours_{table_type}"
    path = tmp_path / name
    create_table_from_ddl(ddl(name, table_type), str(path))
    assert real_hudi.read(path).num_rows == 0
    real_hudi.sql(f"create table {name} using hudi location '{path}'")
    first, second = row(1, "1.500", 1), row(2, "2.500", 1)
    real_hudi.sql(f"insert into {name} values ({sql_values(first)}), ({sql_values(second)})")
    assert by_key(read(path)) == expected(first, second)

    changed, third = row(2, "20.250", 2), row(3, "3.500", 1)
    columns = "id, amount, at, tags, sizes, place, ts, day"
    real_hudi.sql(
        f"merge into {name} t using (select * from values ({sql_values(changed)}), ({sql_values(third)}) "
        f"as s({columns})) s on t.id = s.id when matched then update set * when not matched then insert *"
    )
    assert by_key(read(path)) == expected(first, changed, third)

    ours = row(1, "-1.125", 3)
    write(spark, path, tmp_path, [ours])
    real_hudi.sql(f"delete from {name} where id = 3")
    for tend in (lambda: None, lambda: tended_by_hudi(real_hudi, path)):
        tend()
        assert by_key(read(path)) == expected(ours, changed)
        assert by_key(real_hudi.select(f"select * from {name}")) == expected(ours, changed)


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_we_write_to_a_table_of_hudis_ddl(
    table_type: str, real_hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    name = f"of_hudi_{table_type}"
    path = tmp_path / name
    real_hudi.sql(f"{ddl(name, table_type)} location '{path}'")
    assert HudiTable.open(str(path)).scan().to_arrow().num_rows == 0
    first, second = row(1, "1.500", 1), row(2, "2.500", 1)
    write(spark, path, tmp_path, [first, second])
    assert sorted(HudiTable.open(str(path)).partitions()) == ["day=2024-01-01", "day=2024-01-02"]
    real_hudi.sql(f"update {name} set amount = 7, ts = 2 where id = 2")
    changed = {**second, "amount": Decimal("7.000"), "ts": 2}
    third = row(3, "3.500", 3)
    write(spark, path, tmp_path, [third])
    assert by_key(read(path)) == expected(first, changed, third)
    assert by_key(real_hudi.select(f"select * from {name}")) == expected(first, changed, third)
