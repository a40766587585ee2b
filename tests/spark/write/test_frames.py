"""DataFrames written by a call: ``pyhudi.write``."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi
from spark_jobs.core.errors import ConfigError

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
COLUMNS = "id bigint, p string, v string, ts bigint"


def test_a_frame_is_written_by_hudis_options_and_by_those_of_the_job(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")

    def rows() -> list[tuple[object, ...]]:
        return sorted(tuple(one) for one in pyhudi.read(spark, path).select("id", "p", "v", "ts").collect())

    first = spark.createDataFrame([(1, "a", "x", 1), (2, "b", "x", 1)], COLUMNS)
    keys = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.operation": "bulk_insert",
        "hoodie.metadata.enable": False,
    }
    assert pyhudi.write(first, path, **keys).inserts == 2
    late = spark.createDataFrame([(2, "b", "y", 2), (3, "b", "y", 2)], COLUMNS)
    done = pyhudi.write(late, path, op="upsert", idempotency_key="late")
    assert (done.updates, done.inserts) == (1, 1)
    assert pyhudi.write(late, path, op="upsert", idempotency_key="late").repeated
    assert pyhudi.write(late, path, op="delete", dry_run=True).instant is None
    assert rows() == [(1, "a", "x", 1), (2, "b", "y", 2), (3, "b", "y", 2)]
    pyhudi.write(late.where("id = 3").select("id", "p"), path, op="delete")
    assert rows() == [(1, "a", "x", 1), (2, "b", "y", 2)]
    for wrong in ({"source": "x"}, {"operation": "upsert"}):
        with pytest.raises(ConfigError, match="is no option of a write of a DataFrame"):
            pyhudi.write(late, path, **wrong)
    with pytest.raises(ConfigError, match="a new table needs record key fields"):
        pyhudi.write(late, str(tmp_path / "other"), table_name="o")
