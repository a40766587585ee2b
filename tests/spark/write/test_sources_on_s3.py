"""Sources on S3, which Spark has no file system for here: its tasks read Parquet files; others are refused."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import ConfigError, HudiError
from spark_jobs.core.lake import Lake
from tests.spark.tables import SCHEMA, Jobs, row, rows, shown
from tests.support.folder import Folder, write_parquet
from tests.support.s3 import S3_SERVER

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def bucket() -> Folder:
    return Folder(S3_SERVER.new_bucket(), Lake().reached_by(S3_SERVER.options()))


def put(folder: Folder, *batches: list[dict[str, Any]]) -> tuple[str]:
    for number, batch in enumerate(batches):
        write_parquet(pa.Table.from_pylist(batch, schema=SCHEMA), folder / f"{number}.parquet")
    return (str(folder),)


def test_rows_by_tasks(spark: SparkSession, bucket: Folder) -> None:
    jobs = Jobs(spark=spark, path=bucket / "t")
    done = jobs.write("insert", [], source=put(bucket / "first", rows(range(8)), rows(range(8, 12))))
    assert (done.extra["source_reader"], done.files_in, done.records_in) == ("tasks", 2, 12)
    done = jobs.write("upsert", [], source=put(bucket / "second", [row(1, "b", "new", 2)]))
    assert (done.extra["source_reader"], done.files_in) == ("tasks", 1)
    assert jobs.rows() == shown([*(one for one in rows(range(12)) if one["id"] != 1), row(1, "b", "new", 2)])


def test_rows_through_a_transformer_and_an_error_table(spark: SparkSession, bucket: Folder) -> None:
    jobs, errors = Jobs(spark=spark, path=bucket / "t"), bucket / "errors"
    given = {
        "source": put(bucket / "in", [row(1, "a", "x", 1), row(2, "../up", "y", 1)], [row(3, "a", "z", 1)]),
        "transformer_sql": "SELECT *, upper(v) AS loud FROM <SRC>",
        "error_table": str(errors),
    }
    planned = jobs.write("upsert", [], **given, dry_run=True)
    assert (planned.plan or {})["error_rows"] == 1
    done = jobs.write("upsert", [], **given)
    assert done.extra["source_reader"] == "spark, because of --transformer-sql"
    assert (done.files_in, done.extra["error_rows"]) == (2, 1)
    assert done.bytes_in == sum(one.size for one in (bucket / "in").iterdir())
    assert [(one["id"], one["loud"]) for one in jobs.rows()] == [(1, "X"), (3, "Z")]
    (refused,) = errors.table().scan().to_arrow().to_pylist()
    assert json.loads(refused["row"])["p"] == "../up"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"source_format": "csv"}, "--source-format csv"),
        ({"source_options": {"mergeSchema": "true"}}, "--source-option"),
        ({}, "has folders in it"),
    ],
)
def test_what_spark_has_to_read_is_refused_in_one_line(
    spark: SparkSession, bucket: Folder, given: dict[str, Any], why: str
) -> None:
    put(bucket / "in" / "p=a", [row(1)])
    with pytest.raises(ConfigError, match="no file system for s3:") as raised:
        Jobs(spark=spark, path=bucket / "t").write("upsert", [], source=(str(bucket / "in"),), **given)
    said = str(raised.value)
    assert why in said
    assert "hadoop-aws" in said
    assert "\n" not in said
    assert not (bucket / "t").is_dir()


def test_a_missing_source(spark: SparkSession, bucket: Folder) -> None:
    with pytest.raises(HudiError, match="/none does not exist"):
        Jobs(spark=spark, path=bucket / "t").write("upsert", [], source=(str(bucket / "none"),))
