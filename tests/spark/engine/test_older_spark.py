"""Both modules of what PySpark's releases do otherwise give the same, in whichever release runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from spark_jobs.core.keygen.java_text import java_text
from spark_jobs.engine import older_spark, spark_api

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NUMBERS = [0, 1, -5, 7, 123456, 2**31 - 1, -(2**31)]
VALUES = """select * from values
    (timestamp'2013-01-02 03:04:05.123456', timestamp_ntz'1888-01-02 03:04:05.5', date'1560-03-04', 1.0e0d / 3,
     cast(0.1 as float), cast(1.5e-7 as decimal(38, 18)), true, 9007199254740993L, 'ü'),
    (null, null, null, null, null, null, null, null, null) as t(t, ntz, d, d64, d32, n, b, l, s)"""


def test_the_hash_is_sparks(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(one,) for one in NUMBERS], "x int").select(F.hash("x")).collect()
    assert [row[0] for row in rows] == older_spark.spark_hash(np.array(NUMBERS, np.int32)).tolist()


@pytest.mark.parametrize("tasks", [1, 2, 7, 16])
@pytest.mark.parametrize("api", [spark_api, older_spark], ids=["newest", "older"])
def test_each_mark_has_a_task_of_its_own(spark: SparkSession, api: object, tasks: int) -> None:
    is_older = api is older_spark
    marks = (older_spark if is_older else spark_api).marks_of_tasks(tasks)
    rows = spark.createDataFrame([(one,) for one in marks] * 3, "mark int")
    gathered = rows.repartition(tasks, "mark") if is_older else spark_api.gathered(rows, tasks, "mark")
    places = gathered.select("mark", F.spark_partition_id().alias("place")).distinct().collect()
    assert len(places) == len({row.mark for row in places}) == len({row.place for row in places}) == tasks


def test_texts_by_way_of_pandas_are_those_of_arrow(spark: SparkSession) -> None:
    rows = spark.sql(VALUES)
    for field in rows.schema.fields:
        arrow = spark_api.arrow_schema(rows.schema).field(field.name).type

        def text(values: pa.Array) -> pa.Array:
            return java_text(values, "c", consistent_timestamps=True)

        def types(values: pa.Array) -> pa.Array:
            return pa.array([str(values.type).replace("Etc/UTC", "UTC")] * len(values))

        for made in (text, types):
            by_older = older_spark.texts_by_arrow(made, F.col(field.name), field.dataType, arrow)
            by_newest = spark_api.texts_by_arrow(made, F.col(field.name), field.dataType)
            found = rows.select(by_older.alias("older"), by_newest.alias("newest")).collect()
            assert [row.older for row in found] == [row.newest for row in found], field.name


def test_rows_come_and_go_alike(spark: SparkSession) -> None:
    rows = pa.table({"number": [1, 2], "piece": [b"a\0", None]})
    frames = [spark_api.frame_of(spark, rows), older_spark.frame_of(spark, rows)]
    assert [spark_api.arrow_of(one).to_pylist() for one in frames] == [rows.to_pylist()] * 2
    schema = spark_api.arrow_schema(frames[0].schema)
    assert older_spark.arrow_of(frames[0], schema).equals(spark_api.arrow_of(frames[0]))


def test_what_is_no_utf8_is_known(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(b"ab",), (b"\xff",), ("ü".encode(),), (b"\xc3",)], "b binary")
    text = F.col("b").cast("string")
    apis = [spark_api] if spark_api._HAS_VALID_UTF8 else [spark_api, older_spark]
    for api in apis:
        assert [row[0] for row in rows.select(api.is_utf8(text)).collect()] == [True, False, True, False]
