"""Schemas with ids: JSON as Hudi writes it, to and from Avro, and what ALTER TABLE does to them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import ConfigError, CorruptTableError
from spark_jobs.core.schema.avro import avro_schema_of, with_meta_fields
from spark_jobs.core.schema.changes import (
    add_column,
    comment_column,
    drop_column,
    make_optional,
    move_column,
    rename_column,
    widen_column,
)
from spark_jobs.core.schema.internal import InternalSchema, RecordType, history_text, parse_history, walk
from spark_jobs.core.schema.internal_avro import avro_of, internal_of, internal_type_of
from spark_jobs.core.schema.promotion import may_become
from tests.nightly import examples

pytestmark = pytest.mark.unit

COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("d", pa.struct([("x", pa.int32()), ("y", pa.decimal128(9, 2))])),
        ("e", pa.list_(pa.struct([("k", pa.string())]))),
        ("m", pa.map_(pa.string(), pa.timestamp("us", tz="UTC"))),
        pa.field("n", pa.int64(), nullable=False),
    ]
)
AVRO = with_meta_fields(avro_schema_of(COLUMNS, "t"))
SCHEMA = internal_of(AVRO)


def names(schema: InternalSchema) -> list[str]:
    return [column.name for column in schema.record.columns if not column.name.startswith("_hoodie")]


def ids(schema: InternalSchema) -> dict[str, int]:
    return {name: column.id for name, column in walk(schema.record) if not name.startswith("_hoodie")}


def test_ids_are_given_level_by_level() -> None:
    assert ids(SCHEMA) == {
        "id": 5,
        "d": 6,
        "e": 7,
        "m": 8,
        "n": 9,
        "d.x": 10,
        "d.y": 11,
        "e.element": 12,
        "e.element.k": 13,
        "m.value": 15,
    }
    assert SCHEMA.max_column_id == 15


def test_json_is_that_of_hudi() -> None:
    schema = internal_of(avro_schema_of(pa.schema([COLUMNS.field("m"), COLUMNS.field("n")]), "t"))
    assert json.loads(schema.at(20240102030405006).to_text()) == {
        "max_column_id": 3,
        "version_id": 20240102030405006,
        "type": "record",
        "fields": [
            {
                "id": 0,
                "name": "m",
                "optional": True,
                "type": {
                    "type": "map",
                    "key_id": 2,
                    "key": "string",
                    "value_id": 3,
                    "value": "timestamp",
                    "value_optional": True,
                },
            },
            {"id": 1, "name": "n", "optional": False, "type": "long"},
        ],
    }


def test_avro_comes_back() -> None:
    assert avro_of(SCHEMA, "hoodie.t.t_record") == {
        **AVRO,
        "fields": [{key: field[key] for key in field} for field in AVRO["fields"]],
    }
    assert InternalSchema.parse(SCHEMA.to_text(), "it") == SCHEMA


def test_what_ids_do_not_tell_is_taken_from_the_avro_schema() -> None:
    avro: dict[str, Any] = {
        "type": "record",
        "name": "r",
        "namespace": "n",
        "fields": [
            {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {
                "name": "local",
                "type": ["null", {"type": "long", "logicalType": "local-timestamp-micros"}],
                "default": None,
            },
            {"name": "colour", "type": {"type": "enum", "name": "c", "symbols": ["red"]}},
            {"name": "at", "type": {"type": "int", "logicalType": "time-millis"}},
        ],
    }
    assert avro_of(internal_of(avro), "n.r", avro) == avro
    widened = widen_column(internal_of(avro), "local", "string")
    assert avro_of(widened, "n.r", avro)["fields"][1]["type"] == ["null", "string"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"type":"record"}', '{"type":"record","fields":[{"id":1,"name":2}]}', '{"type":"record",'
             '"fields":[{"id":1,"name":"a","optional":true,"type":"point"}]}', '{"type":"array"}', "[" * 100_000]
)  # fmt: skip
def test_json_that_is_none(text: str) -> None:
    with pytest.raises(CorruptTableError, match="it holds no schema with ids"):
        InternalSchema.parse(text, "it")
    with pytest.raises(CorruptTableError, match="it holds no schema history"):
        parse_history('{"schemas":[' + text + "]" if text.startswith("{") else text, "it")


JSON_NAMES = ("type", "fields", "id", "name", "optional", "schemas", "version_id", "element")
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(JSON_NAMES), inner),
)


@settings(max_examples=examples(200), deadline=None)
@given(JSON_VALUES)
def test_any_json_is_a_schema_or_an_error(value: Any) -> None:
    for parse in (InternalSchema.parse, parse_history):
        try:
            parse(json.dumps(value), "it")
        except CorruptTableError:
            continue


def test_a_history_is_newest_first_in_its_file_and_oldest_first_in_memory() -> None:
    versions = (SCHEMA, SCHEMA.at(20240101000000000), SCHEMA.at(20250101000000000))
    text = history_text(versions)
    assert [one["version_id"] for one in json.loads(text)["schemas"]] == [20250101000000000, 20240101000000000, 0]
    assert parse_history(text, "it") == versions


def test_added_columns_get_new_ids_inside_too() -> None:
    kind = internal_type_of(avro_schema_of(pa.schema([("s", pa.struct([("a", pa.list_(pa.int32()))]))]), "t"))
    assert isinstance(kind, RecordType)
    added = add_column(SCHEMA, "new", kind.columns[0].type, "what it is", after="id")
    assert names(added) == ["id", "new", "d", "e", "m", "n"]
    assert {name: each for name, each in ids(added).items() if name.startswith("new")} == {
        "new": 16,
        "new.a": 17,
        "new.a.element": 18,
    }
    assert added.max_column_id == 18
    inner = add_column(added, "e.element.v", "int", first=True)
    assert ids(inner)["e.element.v"] == 19
    assert [name for name in ids(inner) if name.startswith("e.element.")] == ["e.element.v", "e.element.k"]
    assert names(add_column(SCHEMA, "last", "int"))[-1] == "last"
    assert names(add_column(SCHEMA, "x", "int", before="d"))[:2] == ["id", "x"]


def test_a_dropped_column_never_gives_its_id_away() -> None:
    dropped = drop_column(SCHEMA, "m")
    assert dropped.max_column_id == 15
    assert ids(add_column(dropped, "m", "string"))["m"] == 16
    assert "d.x" not in ids(drop_column(SCHEMA, "d.x"))
    with pytest.raises(ConfigError, match=r"e\.element\.k is the last column of its struct"):
        drop_column(SCHEMA, "e.element.k")


def test_renamed_moved_and_widened_columns_keep_their_ids() -> None:
    changed = rename_column(SCHEMA, "d.x", "z")
    changed = widen_column(changed, "d.z", "long")
    changed = move_column(changed, "d.z", after="y")
    changed = widen_column(changed, "m.value", "timestamp")
    changed = make_optional(comment_column(changed, "n", "a number"), "n")
    found = dict(walk(changed.record))
    assert (found["d.z"].id, found["d.z"].type) == (10, "long")
    assert [name for name in ids(changed) if name.startswith("d.")] == ["d.y", "d.z"]
    assert (found["n"].optional, found["n"].doc) == (True, "a number")
    assert names(move_column(SCHEMA, "n", before="id"))[0] == "n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: add_column(SCHEMA, "ID", "int"), "there is a column ID already"),
        (lambda: add_column(SCHEMA, "n.x", "int"), r"n\.x is no place for a column"),
        (lambda: drop_column(SCHEMA, "d.q"), r"there is no column d\.q: its siblings are x, y"),
        (lambda: rename_column(SCHEMA, "n", "id"), "there is a column id already"),
        (lambda: widen_column(SCHEMA, "n", "int"), "column n is long and can't become int"),
        (lambda: widen_column(SCHEMA, "d", "string"), "column d is RecordType and can't become string"),
        (lambda: move_column(SCHEMA, "n", after="q"), "there is no column q"),
    ],
)
def test_changes_that_can_not_be(change: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        change()


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("int", "long", True),
        ("int", "decimal(20, 2)", True),
        ("long", "int", False),
        ("float", "double", True),
        ("double", "float", False),
        ("double", "string", True),
        ("date", "string", True),
        ("string", "date", True),
        ("string", "decimal(5, 2)", True),
        ("string", "int", False),
        ("decimal(9, 2)", "decimal(9, 2)", True),
        ("decimal(9, 2)", "decimal(11, 4)", True),
        ("decimal(9, 2)", "decimal(10, 4)", False),
        ("decimal(9, 2)", "string", True),
        ("boolean", "string", False),
        ("timestamp", "string", False),
    ],
)
def test_which_types_may_become_which(old: str, new: str, allowed: bool) -> None:
    assert may_become(old, new) is allowed
