"""Avro to Hive, Avro to Spark's JSON, Arrow to Avro: by literal tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.hive.types import columns_of, fields_of, hive_type, spark_schema_json

pytestmark = pytest.mark.unit

PLACE = {"type": "record", "name": "place", "namespace": "x", "fields": [{"name": "Lat", "type": ["null", "double"]}]}
DECIMAL = {"type": "fixed", "name": "f", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}


@pytest.mark.parametrize(
    ("avro", "hive"),
    [
        ("boolean", "boolean"),
        ("int", "int"),
        ("long", "bigint"),
        ("float", "float"),
        ("double", "double"),
        ("string", "string"),
        ("bytes", "binary"),
        ({"type": "string"}, "string"),
        ({"type": "fixed", "name": "md5", "size": 16}, "binary"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "string"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "int", "logicalType": "time-millis"}, "int"),
        ({"type": "long", "logicalType": "time-micros"}, "bigint"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "bigint"),
        ({"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}, "binary"),
        ({"type": "string", "logicalType": "uuid"}, "string"),
        (MICROS, "bigint"),
        (DECIMAL, "decimal(10,2)"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, "decimal(4,0)"),
        (["null", "int"], "int"),
        (["string", "null"], "string"),
        ({"type": "array", "items": ["null", "long"]}, "array<bigint>"),
        ({"type": "map", "values": PLACE}, "map<string,struct<lat:double>>"),
    ],
)
def test_hive_types(avro: Any, hive: str) -> None:
    assert hive_type(avro) == hive


def test_timestamps_are_timestamps_where_supported() -> None:
    assert hive_type({"type": "array", "items": MICROS}, support_timestamp=True) == "array<timestamp>"


def test_named_types_are_known_by_name_the_second_time() -> None:
    fields: list[dict[str, Any]] = [
        {"name": "a", "type": PLACE},
        {"name": "b", "type": ["null", "x.place"]},
        {"name": "c", "type": "place"},
    ]
    assert [column.type for column in columns_of(fields, support_timestamp=False)] == ["struct<lat:double>"] * 3


def test_unions_and_nulls_have_no_hive_type() -> None:
    for avro in (["int", "string"], "null"):
        with pytest.raises(ConfigError, match="no Hive type: leave the column out"):
            hive_type(avro)


def test_columns_are_lower_case_and_carry_comments_on_demand() -> None:
    fields = [{"name": "Id", "type": "long", "doc": "who"}]
    (plain,) = columns_of(fields, support_timestamp=False)
    (with_comment,) = columns_of(fields, support_timestamp=False, comments=True)
    assert (plain.name, plain.comment) == ("id", "")
    assert with_comment.comment == "who"


def test_meta_fields_come_first_and_once() -> None:
    schema = {
        "type": "record",
        "name": "t",
        "fields": [{"name": "_hoodie_record_key", "type": "string"}, {"name": "a"}],
    }
    assert [field["name"] for field in fields_of(schema, meta_fields=True)] == [
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
        "a",
    ]
    assert [field["name"] for field in fields_of(schema, meta_fields=False)] == ["a"]


def test_spark_schema_has_partition_columns_last() -> None:
    fields: list[dict[str, Any]] = [
        {"name": "month", "type": "int"},
        {"name": 'a"b', "type": ["null", {"type": "array", "items": ["null", "string"]}]},
        {"name": "Place", "type": PLACE},
        {"name": "m", "type": {"type": "map", "values": "long"}},
        {"name": "at", "type": ["null", MICROS]},
    ]
    schema = json.loads(spark_schema_json(fields, ["month", "unknown"]))
    assert [(field["name"], field["type"], field["nullable"]) for field in schema["fields"]] == [
        ('a"b', {"type": "array", "elementType": "string", "containsNull": True}, True),
        (
            "Place",
            {"type": "struct", "fields": [{"name": "Lat", "type": "double", "nullable": True, "metadata": {}}]},
            False,
        ),
        ("m", {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": False}, False),
        ("at", "timestamp", True),
        ("month", "integer", False),
        ("unknown", "string", False),
    ]
