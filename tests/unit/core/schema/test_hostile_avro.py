"""Avro schemas that are none: always an error of the project's own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError, HudiError, UnsupportedTableError
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.schema.internal_avro import avro_of, internal_of
from tests.nightly import examples

pytestmark = pytest.mark.unit

WORDS = [
    "type",
    "name",
    "fields",
    "items",
    "values",
    "symbols",
    "size",
    "logicalType",
    "precision",
    "scale",
    "namespace",
    "record",
    "array",
    "map",
    "enum",
    "fixed",
    "null",
    "int",
    "long",
    "bytes",
    "string",
    "decimal",
    "date",
    "timestamp-micros",
    "duration",
    "a",
    "b",
]
JSON = st.recursive(
    st.sampled_from(WORDS) | st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)
FIELDS = st.lists(st.fixed_dictionaries({"name": st.sampled_from("ab") | JSON, "type": JSON}), max_size=3)


@settings(max_examples=examples(600), deadline=None)
@given(FIELDS.map(lambda fields: {"type": "record", "name": "r", "fields": fields}) | JSON)
def test_any_json_is_a_schema_or_an_error(value: Any) -> None:
    try:
        arrow_schema_of(value)
        avro_of(internal_of(value), "n.r", value)
    except HudiError:
        return


def record(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}


def nested(levels: int) -> Any:
    text = '{"type":"array","items":' * levels + '"int"' + "}" * levels
    return json.loads(text)


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        (nested(300), CorruptTableError, "more than 100 levels"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 10**9}, UnsupportedTableError, "76 digits"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 0}, UnsupportedTableError, "76 digits"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2**40}, UnsupportedTableError, "scale"),
        ({"type": "fixed", "name": "f", "size": -1}, CorruptTableError, "size of a fixed"),
        ({"type": "fixed", "name": "f", "size": 2**40}, CorruptTableError, "size of a fixed"),
        (
            {"type": "record", "name": "r", "fields": [{"name": "b", "type": "r"}]},
            UnsupportedTableError,
            "contains itself",
        ),
        (["int", "string"], UnsupportedTableError, "union"),
        (["null", ["null", "int"]], CorruptTableError, "a union in a union"),
        ("nothing", CorruptTableError, "uses the type 'nothing' without defining it"),
        ({"type": "enum", "name": "e", "symbols": [1]}, CorruptTableError, "symbols of an enum"),
        (
            {"type": "record", "name": "s", "fields": [{"name": "b", "type": "int"}] * 2},
            CorruptTableError,
            "two fields",
        ),
        ({"type": "fixed", "name": "f", "size": 12, "logicalType": "duration"}, UnsupportedTableError, "duration"),
    ],
)
def test_what_is_wrong_is_told(kind: Any, error: type[HudiError], message: str) -> None:
    with pytest.raises(error, match=message):
        arrow_schema_of(record(kind))


def test_a_logical_type_that_is_no_name_counts_as_none() -> None:
    assert arrow_schema_of(record({"type": "int", "logicalType": ["date"]})).field("a").type == "int32"


def test_names_that_stand_for_each_other_do_not_explode() -> None:
    kind: Any = {"type": "record", "name": "r0", "fields": [{"name": "a", "type": "int"}]}
    for level in range(1, 60):
        inner = [{"name": "a", "type": kind}, {"name": "b", "type": f"r{level - 1}"}]
        kind = {"type": "record", "name": f"r{level}", "fields": inner}
    with pytest.raises(CorruptTableError, match="more than 100000 types"):
        arrow_schema_of(record(kind))
