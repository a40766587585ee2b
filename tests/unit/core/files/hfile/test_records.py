"""Avro records as cells, and back."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.hfile.records import decode_hfile_content, encode_hfile_content
from spark_jobs.core.files.hfile.source import source_of

pytestmark = pytest.mark.unit

AVRO: dict[str, Any] = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "_hoodie_record_key", "type": ["null", "string"], "default": None},
        {"name": "n", "type": ["null", "long"], "default": None},
        {"name": "words", "type": {"type": "array", "items": "string"}},
    ],
}
KEYED = {**AVRO, "fields": [{"name": "key", "type": "string"}, *AVRO["fields"][1:]]}
SCHEMA = pa.schema(
    [("_hoodie_record_key", pa.string()), ("n", pa.int64()), pa.field("words", pa.list_(pa.string()), nullable=False)]
)


def rows(*keys: str) -> pa.Table:
    table = {"_hoodie_record_key": keys, "n": [None, *range(len(keys))][: len(keys)], "words": [[k, "é"] for k in keys]}
    return pa.table(table, SCHEMA)


def encode(table: pa.Table, avro: dict[str, Any] = AVRO) -> bytes:
    return encode_hfile_content(table, table.column(0), avro, json.dumps(avro))


def test_rows_come_back_by_key() -> None:
    data = encode(rows("c", "a", "b", "ba"))
    found = decode_hfile_content(data, AVRO, SCHEMA)
    assert found.schema == SCHEMA
    assert found["_hoodie_record_key"].to_pylist() == ["a", "b", "ba", "c"]
    assert found.to_pylist() == rows("c", "a", "b", "ba").sort_by("_hoodie_record_key").to_pylist()
    assert HFileReader(data).info[b"schema"] == json.dumps(AVRO).encode()


def test_some_rows() -> None:
    data = encode(rows("c", "a", "b", "ba"))
    section = source_of(b"..." + data).section(3, len(data))
    by_key = decode_hfile_content(section, AVRO, SCHEMA, keys=["c", "b", "x"])
    assert by_key["_hoodie_record_key"].to_pylist() == ["b", "c"]
    by_prefix = decode_hfile_content(section, AVRO, SCHEMA, prefixes=["b", "x"])
    assert by_prefix["_hoodie_record_key"].to_pylist() == ["b", "ba"]
    narrow = decode_hfile_content(section, AVRO, pa.schema([("n", pa.float64()), ("new", pa.string())]))
    assert narrow.to_pydict() == {"n": [0.0, 1.0, 2.0, None], "new": [None] * 4}
    assert decode_hfile_content(section, AVRO, SCHEMA, keys=[]).num_rows == 0


def test_the_key_column_is_left_to_the_row() -> None:
    schema = pa.schema([("key", pa.string()), *list(SCHEMA)[1:]])
    data = encode(rows("c", "a").rename_columns(schema.names), KEYED)
    assert all(value.startswith(b"\0") for _, value in HFileReader(data).entries())  # a text of no bytes
    assert decode_hfile_content(data, KEYED, schema)["key"].to_pylist() == ["a", "c"]


def test_no_rows() -> None:
    assert decode_hfile_content(encode(rows()), AVRO, SCHEMA).equals(rows())


def test_keys_that_can_not_be() -> None:
    with pytest.raises(BadRecordError, match="a key comes twice"):
        encode(rows("a", "b", "a"))
    with pytest.raises(BadRecordError, match="1 rows for an HFile have no key"):
        encode_hfile_content(rows("a"), pa.array([None], pa.string()), AVRO, "")


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(max_size=6), st.tuples(st.none() | st.integers(-(2**63), 2**63 - 1), st.text())))
def test_any_rows(content: dict[str, tuple[int | None, str]]) -> None:
    table = pa.table([list(content), [n for n, _ in content.values()], [[t] for _, t in content.values()]], SCHEMA)
    found = decode_hfile_content(encode(table), AVRO, SCHEMA)
    assert sorted(found.to_pylist(), key=str) == sorted(table.to_pylist(), key=str)
