"""Writes by Spark to a table whose rows are in the files that it was bootstrapped from: places, moves, merges."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT
from spark_jobs.services.validation.run import validate
from tests.spark.tables import COW, MOR, SCHEMA, Jobs, Row, SparkJobs, row, rows, shown
from tests.unit.services.bootstrap.sources import bootstrap

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

MOVES = {"hoodie.index.type": "GLOBAL_BLOOM", "hoodie.bloom.index.update.partition.path": "true"}
SIMPLE = {"hoodie.index.type": "SIMPLE"}
STORED = rows(range(12))


def bootstrapped(tmp_path: Path, table_type: str) -> Path:
    for name in "ab":
        folder = tmp_path / "source" / name
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist([one for one in STORED if one["p"] == name], SCHEMA), folder / "1.parquet")
    fields = {"record_key_fields": ("id",), "partition_path_fields": ("p",), "precombine_field": "ts"}
    bootstrap(tmp_path / "t", tmp_path / "source", table_type=table_type, **fields)
    return tmp_path / "t"


def after(stored: list[Row], changes: list[Row]) -> list[Row]:
    changed = {one["id"] for one in changes}
    return [one for one in stored if one["id"] not in changed] + changes


@pytest.mark.parametrize(
    ("kind", "table_type", "conf"), [(SparkJobs, COW, MOVES), (SparkJobs, MOR, SIMPLE), (Jobs, COW, {})]
)
def test_writes_find_the_rows_of_the_source(
    spark: SparkSession, tmp_path: Path, kind: type[Jobs], table_type: str, conf: dict[str, str]
) -> None:
    jobs = kind(spark=spark, path=bootstrapped(tmp_path, table_type), table_type=table_type, conf=conf)
    changes = [row(0, "b" if conf is MOVES else "a", "two", 2), row(1, "b", "two", 2), row(20, "a", "new", 2)]
    done = jobs.write("upsert", changes)
    assert (done.inserts, jobs.rows()) == (1 + (conf is MOVES), shown(after(STORED, changes)))
    jobs.write("delete", [row(3, "b"), row(4, "a")])
    stored = [one for one in after(STORED, changes) if one["id"] not in (3, 4)]
    assert jobs.rows() == shown(stored)
    (jobs.compact if table_type == MOR else jobs.cluster)()
    jobs.clean()
    assert jobs.rows() == shown(stored)
    assert BOOTSTRAP_INSTANT not in {one.base_instant for one in jobs.table().file_slices()}
    assert [str(one) for one in validate(str(jobs.path), deep=True)] == []
