"""Rows that do not fit: each is refused in a line that says why, and the table is as it was; odd values that do fit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.engine.failure import failure_of
from spark_jobs.options.choices import SourceReader
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobState
from tests.spark.tables import COW, MOR, SCHEMA, SMALL, Jobs, Row, SparkJobs, digests, row, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

OPERATIONS = ("upsert", "insert", "bulk_insert", "delete", "insert_overwrite", "insert_overwrite_table")
KINDS = [(COW, SourceReader.AUTO), (MOR, SourceReader.SPARK)]
"""Of tables, and who reads the rows that are refused: the tasks themselves, or Spark."""

OF_A_ROLLBACK = re.compile(
    r"\.hoodie/(\d{17}\.rollback|metadata/\.hoodie/\d{17}\.deltacommit)(\.requested|\.inflight)?"
)
"""Its own instant, and that by which the metadata table took note of it."""


@dataclass(kw_only=True)
class ReadBy(Jobs):
    """Jobs whose sources one reader reads."""

    reader: SourceReader

    def options(self, op: str, rows: Sequence[Row] | pa.Table, **more: Any) -> IngestOptions:
        return Jobs.options(self, op, rows, **{"source_reader": self.reader, **more})


@pytest.fixture(scope="module", params=KINDS, ids=["COW, read by tasks", "MOR, read by Spark"])
def jobs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Jobs:
    """One table for all refused rows: it never changes."""
    table_type, reader = request.param
    made = ReadBy(spark=spark, path=tmp_path_factory.mktemp("refused") / "t", table_type=table_type, reader=reader)
    made.write("bulk_insert", rows(range(10)))
    made.write("upsert", rows(range(3), "y", 2))
    return made


def refused(jobs: Jobs, operation: str, given: list[Row] | pa.Table, **more: Any) -> str:
    """What is said of the rows. Every file of the table is as it was, and none was added but by the rollback of an
    instant whose tasks found the fault.
    """
    before = digests(jobs.path)
    with pytest.raises(Exception, match=r"\w") as raised:  # in whatever Spark wraps it
        jobs.write(operation, given, **more)
    after = digests(jobs.path)
    assert {name: after.get(name) for name in before} == before
    assert [name for name in after if name not in before and not OF_A_ROLLBACK.fullmatch(name)] == []
    assert [one for one in jobs.table().timeline.instants if not one.is_completed] == []
    message = failure_of(raised.value).message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("operation", OPERATIONS)
def test_null_and_empty_keys(jobs: Jobs, operation: str) -> None:
    message = refused(jobs, operation, [row(1, "b", "no", 2), {**row(2, "a", "no", 2), "id": None}])
    assert "a record has no value in its key (id)" in message


@pytest.mark.parametrize("kind", [Jobs, SparkJobs])
def test_a_key_that_other_values_give_too(spark: SparkSession, tmp_path: Path, kind: type[Jobs]) -> None:
    strict = {**SMALL, "pyhudi.recordkey.refuse.ambiguous": "true"}
    jobs = kind(spark=spark, path=tmp_path / "t", keys=("v", "p"), conf=strict)
    jobs.write("upsert", [row(1, "a", "x,b:1"), row(2, "a", None)])
    one, other = row(3, "x,p:a", "x"), row(4, "a", "__null__")
    said = "has one of ',p:', '__null__', '__empty__' in it, so that another record may get the same key"
    assert f"a value of key column p {said}" in refused(jobs, "upsert", [one])
    assert f"a value of key column v {said}" in refused(jobs, "insert", [other])
    jobs.write("upsert", [other], hoodie_conf=tuple(SMALL.items()))
    assert jobs.rows() == shown([row(1, "a", "x,b:1"), other])


def test_a_key_too_long_for_the_record_index(spark: SparkSession, tmp_path: Path) -> None:
    """Whoever reads the source; a table without such an index takes it."""
    conf = {"hoodie.metadata.record.index.enable": "true"}
    for number, kind in enumerate([Jobs, SparkJobs]):
        jobs = kind(spark=spark, path=tmp_path / f"{number}", keys=("v",), conf=conf)
        jobs.write("upsert", [row(1, "a", "short")])
        message = refused(jobs, "upsert", [row(1, "b", "x" * 32_768, 2)])
        assert "a record key has 32768 bytes, and the record index (hoodie.metadata.record.index.enable)" in message
        assert not (jobs.path / "b").exists()
    jobs.write("upsert", [row(1, "b", "x" * 32_768, 2)], hoodie_conf=tuple(SMALL.items()))
    assert len(jobs.rows()) == 2


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        *(("upsert", value) for value in ("../up", "a/../b", "/root", "a//b", ".")),
        ("bulk_insert", "../up"),
        ("insert_overwrite", "../up"),
    ],
)
def test_partition_values_that_lead_elsewhere(jobs: Jobs, operation: str, value: str) -> None:
    message = refused(jobs, operation, [row(1, value, "no", 2)])
    assert "a value of partition column p" in message


@pytest.mark.parametrize("path", ["../outside", ".hoodie", "a/..", "/a"])
def test_a_partition_to_replace_that_leads_elsewhere(jobs: Jobs, path: str) -> None:
    """A clean would delete what is there."""
    delete = (*SMALL.items(), ("hoodie.datasource.write.partitions.to.delete", path))
    assert f"partitions.to.delete names '{path}', which" in refused(jobs, "delete_partition", [], hoodie_conf=delete)
    static = (*SMALL.items(), ("hoodie.static.overwrite.partition.paths", f"b,{path}"))
    assert f"names '{path}', which" in refused(jobs, "insert_overwrite", [row(1)], hoodie_conf=static)


@pytest.mark.parametrize("operation", ["upsert", "bulk_insert", "insert_overwrite"])
def test_a_column_that_is_gone(jobs: Jobs, operation: str) -> None:
    given = pa.Table.from_pylist([row(1)], schema=SCHEMA)
    assert "no column v" in refused(jobs, operation, given.drop_columns(["v"]))
    assert "no column ts, which is a precombine field" in refused(jobs, operation, given.drop_columns(["ts"]))
    assert "no column id, which is a record key field" in refused(jobs, operation, given.drop_columns(["id"]))
    assert "no column p, which is a partition path field" in refused(jobs, operation, given.drop_columns(["p"]))


def test_a_column_of_another_type(jobs: Jobs) -> None:
    given = pa.Table.from_pylist([row(1)], schema=SCHEMA)
    flags = given.set_column(given.column_names.index("ts"), "ts", pa.array([True]))
    assert "column ts is " in refused(jobs, "upsert", flags)


def test_files_of_different_types_in_one_source(jobs: Jobs) -> None:
    folder = Path(jobs.source([row(1)])).with_suffix("")
    folder.mkdir()
    given = pa.Table.from_pylist([row(1)], schema=SCHEMA)
    pq.write_table(given, folder / "0.parquet")
    pq.write_table(given.set_column(3, "ts", pa.array(["soon"])), folder / "1.parquet")
    assert "ts" in refused(jobs, "upsert", given, source=(str(folder),))


def test_a_precombine_field_without_a_value(jobs: Jobs) -> None:
    assert "no value in the precombine field ts" in refused(jobs, "upsert", [{**row(1), "ts": None}])


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_empty_batch(spark: SparkSession, tmp_path: Path, operation: str, table_type: str) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=table_type)
    if operation != "delete":
        made = jobs.write(operation, [])
        assert (made.state, made.records_in, made.files_out) == (JobState.COMPLETED, 0, 0)
        assert (jobs.rows(), jobs.table().schema.names) == ([], SCHEMA.names)
    jobs.write("bulk_insert", rows(range(4)))
    done = jobs.write(operation, [])
    assert (done.state, done.records_in, done.files_out) == (JobState.COMPLETED, 0, 0)
    assert jobs.rows() == ([] if operation == "insert_overwrite_table" else shown(rows(range(4))))


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_nan_infinity_and_the_largest_decimals(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    """NaN is the greatest of all, as in Java, where it orders records."""
    schema = pa.schema(
        [
            ("id", pa.decimal128(38, 0)),
            ("p", pa.string()),
            ("ts", pa.float64()),
            ("v", pa.float64()),
            ("d", pa.decimal128(38, 18)),
        ]
    )
    most, small = Decimal("9" * 38), Decimal("9" * 20 + "." + "9" * 18)
    least, negative = most.copy_negate(), small.copy_negate()  # unary minus would round

    def record(key: Decimal, ts: float, value: float, number: Decimal | None) -> dict[str, Any]:
        return {"id": key, "p": "a", "ts": ts, "v": value, "d": number}

    def table(*records: dict[str, Any]) -> pa.Table:
        return pa.Table.from_pylist(list(records), schema=schema)

    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=table_type)
    first = [
        record(most, 1.0, math.nan, small),
        record(least, 1.0, -math.inf, negative),
        record(Decimal(0), 1.0, 0.0, None),
    ]
    jobs.write("bulk_insert", table(*first))
    jobs.write(
        "upsert",
        table(
            record(most, math.inf, 1.0, negative),
            record(most, math.nan, math.inf, small),
            record(most, 5.0, 2.0, None),
            record(Decimal(1), 2.0, math.nan, small),
        ),
    )
    found = {one["id"]: one for one in jobs.table().scan(columns=schema.names).to_arrow().to_pylist()}
    assert math.isnan(found[most]["ts"])
    assert (found[most]["v"], found[most]["d"]) == (math.inf, small)
    assert (found[least]["v"], found[least]["d"]) == (-math.inf, negative)
    assert math.isnan(found[Decimal(1)]["v"])
    assert set(found) == {most, least, Decimal(0), Decimal(1)}
    jobs.write("delete", table(record(most, 1.0, 0.0, None)))
    assert jobs.table().scan().to_arrow().num_rows == 3


@pytest.mark.parametrize(("table_type", "reader"), KINDS)
def test_decimals_that_the_table_has_no_room_for(
    spark: SparkSession, tmp_path: Path, table_type: str, reader: SourceReader
) -> None:
    jobs = ReadBy(spark=spark, path=tmp_path / "t", table_type=table_type, reader=reader)

    def given(kind: pa.DataType, value: str) -> pa.Table:
        schema = pa.schema([*SCHEMA, ("d", kind)])
        return pa.Table.from_pylist([{**row(1, "a", "x", 2), "d": Decimal(value)}], schema=schema)

    jobs.write("bulk_insert", given(pa.decimal128(6, 2), "1.25"))
    for operation in ("upsert", "bulk_insert"):
        assert "column d" in refused(jobs, operation, given(pa.decimal128(30, 2), "9" * 20 + ".25"))
        assert "column d" in refused(jobs, operation, given(pa.decimal128(6, 4), "1.2345"))
        assert "decimal" in refused(jobs, operation, given(pa.decimal256(50, 2), "9" * 40 + ".25")).lower()
    jobs.write("upsert", given(pa.decimal128(5, 2), "-7.50"))
    assert [one["d"] for one in jobs.rows()] == [Decimal("-7.50")]


@pytest.mark.parametrize(("table_type", "reader"), KINDS)
def test_nan_as_a_key(spark: SparkSession, tmp_path: Path, table_type: str, reader: SourceReader) -> None:
    """As Java spells it; NaN equals NaN there."""
    jobs = ReadBy(spark=spark, path=tmp_path / "t", table_type=table_type, reader=reader)

    def given(value: str, *keys: float) -> pa.Table:
        table = pa.Table.from_pylist(
            [row(number, "a", value, len(value)) for number in range(len(keys))], schema=SCHEMA
        )
        return table.set_column(0, "id", pa.array(keys, pa.float64()))

    jobs.write("upsert", given("x", math.nan, 1.5, -math.inf))
    jobs.write("upsert", given("new", math.nan, -math.inf))
    found = jobs.table().scan(columns=["_hoodie_record_key", "v"]).to_arrow().to_pylist()
    by_key = {one["_hoodie_record_key"]: one["v"] for one in found}
    assert by_key == {"NaN": "new", "1.5": "x", "-Infinity": "new"}
    assert len(found) == 3


def test_a_bulk_insert_into_very_many_partitions(spark: SparkSession, tmp_path: Path) -> None:
    """Records of each partition lie apart in the source; the task writes one file for each all the same."""
    many = 500
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    keys = pa.array(range(4 * many), pa.int64())
    given = pa.table(
        {
            "id": keys,
            "p": [f"p{number % many:05d}" for number in range(4 * many)],
            "v": ["x"] * (4 * many),
            "ts": keys,
            "_hoodie_is_deleted": pa.nulls(4 * many, pa.bool_()),
        },
        schema=SCHEMA,
    )
    source = Path(jobs.source([row(1)])).with_suffix(".many.parquet")
    pq.write_table(given, source)
    conf = (*SMALL.items(), ("hoodie.bulkinsert.shuffle.parallelism", "1"))
    result = jobs.write("bulk_insert", [], source=(str(source),), hoodie_conf=conf)
    assert (result.records_out, result.files_out, result.extra["partitions"]) == (4 * many, many, many)
    assert jobs.table().scan(columns=["id"]).to_arrow().num_rows == 4 * many
    assert len(jobs.table().partitions()) == many
