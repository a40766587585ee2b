"""Sources whose schema is not the table's, through Spark: conversions, altered columns, names that Avro lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.alter import alter_schema
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.changes import add_column, drop_column, rename_column
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.query.read import read
from tests.spark.tables import COW, MOR, Jobs

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

FIRST = pa.table(
    {
        "id": [1, 2, 3],
        "p": ["a", "a", "b"],
        "ts": [0, 0, 0],
        "n": pa.array([1, None, 3], pa.int32()),
        "d": pa.array([1.5, 2.5, None], pa.float64()),
        "s": [{"x": 1, "y": "p"}, None, {"x": None, "y": "q"}],
    }
)


def changed(rows: pa.Table, **columns: Any) -> pa.Table:
    for name, values in columns.items():
        rows = rows.drop_columns([name]) if name in rows.column_names else rows
        rows = rows.append_column(name, values)
    return rows


def by_spark(jobs: Jobs) -> dict[int, dict[str, Any]]:
    """The rows as our Spark reader gives them; the reader without a JVM agrees."""
    found = read(jobs.spark, str(jobs.path)).drop(*META_FIELDS).toArrow().to_pylist()
    ours = jobs.table().scan().to_arrow().drop(list(META_FIELDS)).to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == sorted(ours, key=lambda row: row["id"])
    return {row["id"]: row for row in found}


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_narrower_wider_and_new_columns(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=table_type)
    jobs.write("bulk_insert", FIRST)
    wider = changed(
        FIRST.slice(0, 1),
        ts=pa.array([1]),
        n=pa.array([2**40]),
        d=pa.array([7], pa.int32()),
        s=pa.array([{"x": 5, "z": [1, None], "y": "r"}]),
    )
    jobs.write("upsert", wider)
    found = by_spark(jobs)
    assert found[1] == {"id": 1, "p": "a", "ts": 1, "n": 2**40, "d": 7.0, "s": {"x": 5, "z": [1, None], "y": "r"}}
    assert found[2] == {"id": 2, "p": "a", "ts": 0, "n": None, "d": 2.5, "s": None}
    assert found[3] == {"id": 3, "p": "b", "ts": 0, "n": 3, "d": None, "s": {"x": None, "z": None, "y": "q"}}
    with pytest.raises(ConfigError, match="column n is boolean in the source and long in the table"):
        jobs.write("upsert", changed(wider, n=pa.array([True])))
    fewer = wider.drop_columns(["n", "s"])
    with pytest.raises(ConfigError, match="the source has no column n"):
        jobs.write("upsert", fewer)
    kept = Jobs(
        spark=spark,
        path=jobs.path,
        table_type=table_type,
        conf={"hoodie.datasource.write.reconcile.schema": "true"},
    )
    kept.write("upsert", changed(fewer, new=pa.array(["!"])))
    assert by_spark(kept)[1] == {"id": 1, "p": "a", "ts": 1, "n": None, "d": 7.0, "s": None, "new": "!"}


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_table_that_was_altered(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=table_type)
    jobs.write("bulk_insert", FIRST)
    alter_schema(
        jobs.table(),
        lambda schema: add_column(
            drop_column(rename_column(rename_column(schema, "n", "m"), "s.x", "w"), "d"), "d", "int"
        ),
    )
    renamed = pa.struct([("w", pa.int64()), ("y", pa.string())])
    assert by_spark(jobs)[1] == {"id": 1, "p": "a", "ts": 0, "m": 1, "s": {"w": 1, "y": "p"}, "d": None}
    newer = pa.table(
        {
            "id": [1],
            "p": ["a"],
            "ts": [1],
            "m": pa.array([9], pa.int32()),
            "s": pa.array([{"w": 8, "y": "z"}], renamed),
            "d": pa.array([7], pa.int32()),
            "late": [True],
        }
    )
    jobs.write("upsert", newer)
    jobs.write("delete", pa.table({"id": [3], "p": ["b"]}))
    assert by_spark(jobs) == {
        1: newer.to_pylist()[0],
        2: {"id": 2, "p": "a", "ts": 0, "m": None, "s": None, "d": None, "late": None},
    }
    history = max(Path(jobs.path, ".hoodie", ".schema").glob("*.schemacommit"))
    versions = json.loads(history.read_text())["schemas"]
    assert [one["max_column_id"] for one in versions] == [14, 13, 12]


def test_names_that_avro_does_not_have(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table(
        {"id": [1], "p": ["a"], "ts": [0], "a-b": [1], "1st": ["x"], "s": [{"c d": [{"é": 2}]}]},
    )
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    with pytest.raises(ConfigError, match="the column name 'a-b' is none in Avro"):
        jobs.write("insert", rows)
    renaming = {"hoodie.streamer.source.sanitize.invalid.schema.field.names": "true"}
    jobs = Jobs(spark=spark, path=tmp_path / "t", conf=renaming)
    jobs.write("insert", rows)
    assert by_spark(jobs) == {
        1: {"id": 1, "p": "a", "ts": 0, "a__b": 1, "__st": "x", "s": {"c__d": [{"__": 2}]}},
    }
