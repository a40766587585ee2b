"""Texts that Spark reads as JSON, and what stands behind the value that it reads."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.write.json_text import is_one_value

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ONE = [
    '{"a": 1}',
    ' \n{"a": 1}\n',
    '{"a": {"b": [1, {"c": 2}]}, "d": "}{"}',
    '{"a": "\\"}"}',
    '{"a": {"b": 1}}\n',
    '[{"a": 1}, {"a": 2}]',
    "{'a': {'b': 'x'}}",
    '{"a": {"b": 1.10}}',
]
OTHER = [
    '{"a": 1}{"a": 2}',
    '{"a": 1}\n{"a": 2}',
    '{"a": 1}, {"a": 2}',
    '{"a": 1} x',
    '{"a": 1}}',
    '{"a": 1}]',
    '{"a": 1}] [',
    '{"a": 1}, "end of 0"] [1',
    "",
    "no JSON",
    '{"a": {"b": 1}',
]


def test_one_value_and_nothing_behind_it(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(text,) for text in [*ONE, *OTHER, None]], "text string")
    found = {row[0]: row[1] for row in frame.select("text", is_one_value(F.col("text"), {})).collect()}
    assert found == {**dict.fromkeys(ONE, True), **dict.fromkeys(OTHER, False), None: None}
    commented = '{"a": {"b": 1}} // so'
    frame = spark.createDataFrame([(commented,)], "text string")
    assert frame.select(is_one_value(F.col("text"), {"allowComments": "true"})).head()[0]  # type: ignore[index]
