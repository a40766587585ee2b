"""Inserts: beside, over or without what the table has; how they are sized, and what a dry run says of that."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.options.result import JobState
from tests.spark.tables import COW, MOR, SMALL, Jobs, SparkJobs, digests, row, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ALLOW = "hoodie.merge.allow.duplicate.on.inserts"
DROP = "hoodie.datasource.write.insert.drop.duplicates"
COMBINE = "hoodie.combine.before.insert"
POLICY = "hoodie.datasource.insert.dup.policy"


@pytest.fixture(params=[COW, MOR])
def jobs(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Jobs:
    made = Jobs(spark=spark, path=tmp_path / "t", table_type=request.param)
    made.write("insert", [row(1, "a"), row(2, "b")])
    return made


def given(**conf: str) -> tuple[tuple[str, str], ...]:
    return tuple({**SMALL, **conf}.items())


def test_an_insert_may_write_a_key_twice(jobs: Jobs) -> None:
    jobs.write("insert", [row(1, "a", "again", 2)])
    assert jobs.rows() == shown([row(1, "a"), row(1, "a", "again", 2), row(2, "b")])
    assert len(jobs.table().file_slices()) == 2


def test_an_insert_updates_the_file_that_it_fills_up_where_that_is_asked_for(jobs: Jobs) -> None:
    jobs.write("insert", [row(1, "a", "again", 2), row(3, "a")], hoodie_conf=given(**{ALLOW: "false"}))
    assert jobs.rows() == shown([row(1, "a", "again", 2), row(2, "b"), row(3, "a")])


@pytest.mark.parametrize("key", [DROP, POLICY])
def test_an_insert_leaves_out_what_the_table_has(jobs: Jobs, key: str) -> None:
    conf = given(**{key: "true" if key == DROP else "drop"})
    result = jobs.write("insert", [row(1, "a", "again", 2), row(1, "b"), row(3, "a")], hoodie_conf=conf)
    assert jobs.rows() == shown([row(1, "a"), row(2, "b"), row(1, "b"), row(3, "a")])
    assert (result.inserts, result.extra["dropped_duplicates"]) == (2, 1)
    if key == DROP:
        jobs.write("upsert", [row(1, "a", "again", 2)], hoodie_conf=conf)
        assert jobs.rows() == shown([row(1, "a"), row(2, "b"), row(1, "b"), row(3, "a")])
        with pytest.raises(ConfigError, match="can't be used with bulk_insert"):
            jobs.write("bulk_insert", [row(1, "a")], hoodie_conf=conf)


@pytest.mark.parametrize("kind", [Jobs, SparkJobs])
@pytest.mark.parametrize("op", ["insert", "upsert"])
def test_what_drops_duplicates_drops_those_of_the_batch_too(
    spark: SparkSession, tmp_path: Path, kind: type[Jobs], op: str
) -> None:
    jobs = kind(spark=spark, path=tmp_path / "t", conf={DROP: "true"})
    batch = [row(7, "a", "old", 1), row(7, "a", "new", 2), row(8, "b")]
    assert jobs.write(op, batch).inserts == 2
    assert jobs.rows() == shown([row(7, "a", "new", 2), row(8, "b")])
    jobs.write(op, [row(9, "a"), row(9, "a")], hoodie_conf=given(**{DROP: "true", COMBINE: "false"}))
    assert jobs.rows() == shown([row(7, "a", "new", 2), row(8, "b"), row(9, "a"), row(9, "a")])


@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_SIMPLE"])
def test_a_combined_key_of_a_global_index_is_one_record_in_all_partitions(
    spark: SparkSession, tmp_path: Path, index: str
) -> None:
    batch = [row(1, "a", "old", 1), row(1, "b", "new", 2), row(2, "a")]
    kept = batch if index == "SIMPLE" else batch[1:]
    for op in ("insert", "bulk_insert", "insert_overwrite"):
        jobs = Jobs(spark=spark, path=tmp_path / op, conf={COMBINE: "true", "hoodie.index.type": index})
        jobs.write(op, batch)
        assert jobs.rows() == shown(kept), op


@pytest.mark.parametrize("kind", [Jobs, SparkJobs])
def test_rows_of_one_key_are_sized_as_one_record(spark: SparkSession, tmp_path: Path, kind: type[Jobs]) -> None:
    conf = {"hoodie.copyonwrite.insert.split.size": "10", "hoodie.copyonwrite.insert.auto.split": "false"}
    jobs = kind(spark=spark, path=tmp_path / "t", conf=conf)
    batch = [row(number % 10, "a", f"{number}", number) for number in range(100)]
    assert jobs.write("upsert", batch).files_out == 1
    assert jobs.rows() == shown(batch[90:])
    assert jobs.write("insert", [row(number, "b") for number in range(30)]).files_out == 3


def test_a_precombine_field_that_is_no_column_is_needed_by_what_combines_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    jobs.write("insert", [row(1)], precombine_field=None)
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text() + "hoodie.table.precombine.field=moment\n")
    for number, op in enumerate(("insert", "bulk_insert", "insert_overwrite_table"), 2):
        jobs.write(op, [row(number)], precombine_field=None)
    before = jobs.rows_with_meta()
    with pytest.raises(ConfigError, match="no column moment, which is a precombine field"):
        jobs.write("upsert", [row(5)], precombine_field=None)
    assert jobs.rows_with_meta() == before
    assert jobs.rows() == shown([row(4)])


def test_a_precombine_field_without_an_order_is_one_line(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"id": [1], "p": ["a"], "ts": pa.array([[1]], pa.list_(pa.int64()))})
    with pytest.raises(ConfigError, match="precombine field ts is of type array<bigint>, which has no order"):
        Jobs(spark=spark, path=tmp_path / "t").write("upsert", table)
    assert not (tmp_path / "t").exists()


def test_a_precombine_field_within_a_struct_is_one_line(spark: SparkSession, tmp_path: Path) -> None:
    kind = pa.struct([("ts", pa.int64())])
    table = pa.table({"id": [1, 2], "p": ["a", "a"], "m": pa.array([{"ts": 1}, {"ts": 2}], kind)})
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=MOR)
    with pytest.raises(ConfigError, match=r"precombine field m\.ts is a field of a struct"):
        jobs.write("upsert", table, precombine_field="m.ts")
    assert not jobs.path.exists()
    jobs.write("bulk_insert", table, precombine_field=None)
    properties = jobs.path / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text() + "hoodie.table.precombine.field=m.ts\n")
    before = jobs.rows()
    with pytest.raises(ConfigError, match="write with Hudi"):
        jobs.write("upsert", table, precombine_field=None)
    assert jobs.rows() == before
    jobs.write("delete", table.slice(1), precombine_field=None)
    jobs.write("insert", table.slice(1).set_column(0, "id", pa.array([3])), precombine_field=None)
    assert [one["id"] for one in jobs.rows()] == [1, 3]


def test_an_insert_is_refused_where_the_table_has_a_key(jobs: Jobs) -> None:
    before = jobs.rows_with_meta()
    conf = given(**{POLICY: "fail"})
    with pytest.raises(BadRecordError, match="the table has the keys of 1 records of this insert"):
        jobs.write("insert", [row(1, "a"), row(3, "a")], hoodie_conf=conf)
    assert jobs.rows_with_meta() == before
    jobs.write("insert", [row(3, "a")], hoodie_conf=conf)
    assert jobs.rows() == shown([row(1, "a"), row(2, "b"), row(3, "a")])


def test_a_dry_run_tells_which_files_are_filled_and_begun(spark: SparkSession, tmp_path: Path) -> None:
    """Records count as 100 kB, a file has room for 1 MB: partition a gets no more than fits into its small file."""
    sizes = given(
        **{
            "hoodie.copyonwrite.record.size.estimate": "100000",
            "hoodie.parquet.max.file.size": "1000000",
            "hoodie.parquet.small.file.limit": "900000",
        }
    )
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    batch = [*rows(range(10, 35), partitions="a"), row(1, "a", "updated", 2), row(50, "c")]
    planned = jobs.write("upsert", batch, hoodie_conf=sizes, dry_run=True)
    assert planned.plan is not None
    assert planned.plan["creates_table"]
    assert planned.plan["sizing"]["partitions"]["a"]["new_file_groups"] == [
        {"records": 10, "bytes": 1_000_000},
        {"records": 10, "bytes": 1_000_000},
        {"records": 6, "bytes": 600_000},
    ]
    jobs.write("insert", [row(1, "a"), row(2, "b")])
    base = {one.partition: one.base_file for one in jobs.table().file_slices()}["a"]
    assert base is not None
    files = digests(jobs.path)
    planned = jobs.write("upsert", batch, hoodie_conf=sizes, dry_run=True)
    assert (planned.state, planned.records_in) == (JobState.DRY_RUN, 27)
    assert planned.plan is not None
    room = (1_000_000 - base.size) // 100_000
    assert planned.plan["sizing"] == {
        "record_size": 100_000,
        "max_file_size": 1_000_000,
        "small_file_limit": 900_000,
        "partitions": {
            "a": {
                "updates": {base.name.file_id: 1},
                "small_files": [
                    {
                        "file_id": base.name.file_id,
                        "bytes": base.size,
                        "records": room,
                        "bytes_after": base.size + room * 100_000,
                    }
                ],
                "new_file_groups": [
                    {"records": 10, "bytes": 1_000_000},
                    {"records": 15 - room, "bytes": (15 - room) * 100_000},
                ],
            },
            "c": {"updates": {}, "small_files": [], "new_file_groups": [{"records": 1, "bytes": 100_000}]},
        },
    }
    assert digests(jobs.path) == files
    off = (*sizes, ("hoodie.parquet.small.file.limit", "0"))
    without = jobs.write("upsert", batch, hoodie_conf=off, dry_run=True)
    assert without.plan is not None
    assert without.plan["sizing"]["partitions"]["a"]["small_files"] == []
    planned = jobs.write("bulk_insert", batch, hoodie_conf=sizes, dry_run=True)
    assert planned.plan is not None
    assert (planned.plan["sort_mode"], "sizing" in planned.plan) == ("NONE", False)
