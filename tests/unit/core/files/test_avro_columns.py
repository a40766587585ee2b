from __future__ import annotations

import datetime as dt
import io
import struct
from decimal import Decimal, localcontext
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import BadRecordError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.avro_columns import decode_records, encode_records
from spark_jobs.core.schema.avro import arrow_schema_of
from tests.nightly import examples
from tests.unit.core.files.avro_records import UTC, fixed, in_bytes, logical, records

pytestmark = pytest.mark.unit


def written_by_fastavro(schema: dict[str, Any], rows: list[dict[str, Any]]) -> bytes:
    parsed, result = fastavro.parse_schema(schema), b""
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, row)
        result += struct.pack(">i", len(out.getvalue())) + out.getvalue()
    return result


def encoded(table: pa.Table | pa.RecordBatch, schema: dict[str, Any]) -> bytes:
    return b"".join(bytes(part.data) for part in encode_records(table, schema))


@settings(max_examples=examples(150), deadline=None)
@given(records())
def test_flat_records_have_the_bytes_and_the_values_of_fastavro(
    drawn: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    schema, rows = drawn
    arrow = arrow_schema_of(schema)
    expected = written_by_fastavro(schema, rows)
    table = pa.Table.from_pylist(rows, schema=arrow)
    assert encoded(table, schema) == expected
    decoded = decode_records(expected, len(rows), schema, arrow)
    decoded.validate(full=True)
    assert decoded.equals(table)


@settings(max_examples=examples(250), deadline=None)
@given(records(depth=3))
def test_nested_records_have_the_bytes_and_the_values_of_fastavro(
    drawn: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    schema, rows = drawn
    arrow = arrow_schema_of(schema)
    expected = written_by_fastavro(schema, rows)
    table = pa.Table.from_pylist(rows, schema=arrow)
    assert encoded(table, schema) == expected
    doubled = pa.concat_tables([table, table]).combine_chunks().slice(len(rows))  # columns with offsets
    assert encoded(doubled, schema) == expected
    decoded = decode_records(expected, len(rows), schema, arrow)
    decoded.validate(full=True)
    assert decoded.equals(table)
    assert decode_records(expected, len(rows), schema, pa.schema([])).num_columns == 0


ARRAYS = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "a", "type": {"type": "array", "items": "long"}}, {"name": "b", "type": "string"}],
}


def test_arrays_in_several_blocks_with_and_without_sizes() -> None:
    body = bytes.fromhex("04 02 04 03 04 06 08 02 0a 00 02 78")  # [1, 2], sized [3, 4], [5], end; "x"
    data = struct.pack(">i", len(body)) + body
    found = decode_records(data, 1, ARRAYS, arrow_schema_of(ARRAYS))
    assert found.to_pylist() == [{"a": [1, 2, 3, 4, 5], "b": "x"}]


def test_very_uneven_arrays_are_read_one_by_one() -> None:
    rows = [{"a": list(range(3000 if number == 7 else number % 3)), "b": str(number)} for number in range(40)]
    expected = pa.Table.from_pylist(rows, schema=arrow_schema_of(ARRAYS))
    assert decode_records(written_by_fastavro(ARRAYS, rows), 40, ARRAYS, expected.schema).equals(expected)


def test_wide_decimals_go_through_fastavro() -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "d", "type": ["null", in_bytes(50, 2)]}]}
    rows: list[dict[str, Any]] = [{"d": Decimal(10**45 + 7) / 100}, {"d": None}, {"d": Decimal("-0.07")}]
    with localcontext(prec=60):
        rows[0] = {"d": Decimal(f"{10**45 + 7}e-2")}
        expected = pa.Table.from_pylist(rows, schema=arrow_schema_of(schema))
        data = encoded(expected, schema)
        assert data == written_by_fastavro(schema, rows)
        assert decode_records(data, 3, schema, expected.schema).equals(expected)


def test_counts_that_the_bytes_cannot_hold() -> None:
    endless = struct.pack(">i", 11) + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" + b"\0"
    with pytest.raises(CorruptTableError, match="more items than its record has bytes"):
        decode_records(endless, 1, ARRAYS, arrow_schema_of(ARRAYS))
    nothing = {
        **ARRAYS,
        "fields": [{"name": "a", "type": {"type": "array", "items": {"type": "fixed", "name": "z", "size": 0}}}],
    }
    with pytest.raises(UnsupportedTableError, match="values without bytes"):
        decode_records(endless, 1, nothing, arrow_schema_of(nothing))


NESTED = {
    "type": "record",
    "name": "r",
    "namespace": "n",
    "fields": [
        {"name": "id", "type": "long"},
        {
            "name": "s",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "s",
                    "fields": [
                        {"name": "at", "type": ["null", logical("long", "timestamp-micros")]},
                        {"name": "d", "type": ["null", fixed("f5", 5, 10, 3)]},
                    ],
                },
            ],
        },
        {"name": "list", "type": ["null", {"type": "array", "items": ["null", "string"]}]},
        {"name": "map", "type": ["null", {"type": "map", "values": ["null", logical("int", "date")]}]},
        {"name": "again", "type": ["null", "n.s"]},
    ],
}


def test_nested_records_go_both_ways() -> None:
    moment = dt.datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=UTC)
    rows = [
        {"id": 1, "s": {"at": moment, "d": Decimal("-1.500")}, "list": ["a", None], "map": {"k": dt.date(1969, 1, 1)}},
        {"id": 2, "s": None, "list": None, "map": None, "again": {"at": None, "d": None}},
        {"id": 3, "s": {"at": None, "d": None}, "list": [], "map": {}},
    ]
    table = pa.Table.from_pylist(rows, schema=arrow_schema_of(NESTED))
    data = encoded(table, NESTED)
    assert data == written_by_fastavro(NESTED, rows)
    assert decode_records(data, 3, NESTED, table.schema).equals(table)


def test_many_chunks_and_slices() -> None:
    count = 40_000
    table = pa.table(
        {
            "k": pa.array([f"key-{number}" for number in range(count)]),
            "n": pa.array([number - 20_000 if number % 3 else None for number in range(count)], pa.int64()),
            "b": pa.array([number % 7 == 0 for number in range(count)]),
            "d": pa.array([Decimal(number) for number in range(count)], pa.decimal128(10, 0)),
        }
    ).slice(5, count - 9)
    fields = [
        {"name": "k", "type": "string"},
        {"name": "n", "type": ["null", "long"]},
        {"name": "b", "type": "boolean"},
    ]
    schema = {"type": "record", "name": "r", "fields": [*fields, {"name": "d", "type": fixed("f", 5, 10, 0)}]}
    parts = list(encode_records(table, schema))
    assert sum(part.count for part in parts) == count - 9
    assert len(parts) > 1
    assert all(part.ends[-1] == len(part.data) for part in parts)
    data = b"".join(bytes(part.data) for part in parts)
    assert data == written_by_fastavro(schema, table.to_pylist())
    assert decode_records(memoryview(data), count - 9, schema, table.schema).equals(table)


def test_resolution_to_another_schema() -> None:
    fields = [("gone", "string"), ("i", "int"), ("l", ["null", "long"]), ("f", "float"), ("s", "string"), ("x", "int")]
    schema = {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in fields]}
    rows = [{"gone": "g", "i": 1, "l": 2**60 + 1, "f": 0.5, "s": "é", "x": 3}] * 2
    kinds = {"new": pa.list_(pa.string()), "x": pa.string(), "l": pa.float64(), "i": pa.int64(), "f": pa.float64()}
    target = pa.schema([*kinds.items(), ("s", pa.binary())])
    row = decode_records(written_by_fastavro(schema, rows), 2, schema, target)
    assert row.schema == target
    assert row.to_pylist()[0] == {"new": None, "x": "3", "l": float(2**60), "i": 1, "f": 0.5, "s": "é".encode()}
    with pytest.raises(UnsupportedTableError, match="'s' is stored as string"):
        decode_records(written_by_fastavro(schema, rows), 2, schema, pa.schema([("s", pa.int32())]))


SMALL = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "a", "type": ["null", "string"]}, {"name": "b", "type": "long"}],
}


UNEVEN_FIELDS: dict[str, list[dict[str, Any]]] = {
    "flat": [],
    "by columns": [
        {"name": "c", "type": {"type": "array", "items": ["null", "int"]}},
        {"name": "d", "type": ["null", {"type": "map", "values": "string"}]},
    ],
    "one by one": [
        {"name": "c", "type": {"type": "array", "items": ["null", "int"]}},
        {"name": "d", "type": ["null", {"type": "map", "values": "string"}]},
        {"name": "wide", "type": ["null", in_bytes(45, 2)]},
    ],
}


@pytest.mark.parametrize("shape", UNEVEN_FIELDS)
@settings(max_examples=examples(250), deadline=None)
@given(data=st.data())
def test_damaged_bytes_never_pass_silently_beyond_the_buffer(shape: str, data: st.DataObject) -> None:
    schema = {**SMALL, "fields": [*SMALL["fields"], *UNEVEN_FIELDS[shape]]}
    rows: list[dict[str, Any]] = [
        {"a": "abc", "b": -1, "c": [1, None], "d": {"k": "v"}, "wide": Decimal("1.25")},
        {"a": None, "b": 2**40, "c": [], "d": None, "wide": None},
    ]
    good = bytearray(written_by_fastavro(schema, rows))
    for _ in range(data.draw(st.integers(1, 3))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 3))
    try:
        table = decode_records(bytes(good[: len(good) - cut]), 2, schema, arrow_schema_of(schema))
    except CorruptTableError:
        return
    table.validate(full=True)
    assert table.num_rows == 2
    assert cut == 0


def test_bad_values_are_named() -> None:
    with pytest.raises(BadRecordError, match="'b' has nulls"):
        encoded(pa.table({"a": ["x"], "b": pa.array([None], pa.int64())}), SMALL)
    with pytest.raises(BadRecordError, match="'b' does not fit"):
        encoded(pa.table({"a": ["x"], "b": ["no number"]}), SMALL)
    with pytest.raises(BadRecordError, match="'b' has nulls"):
        encoded(pa.table({"a": ["x"]}), SMALL)


@pytest.mark.parametrize(
    ("number", "size"), [(0, 1), (127, 1), (128, 2), (-128, 1), (-129, 2), (2**63, 9), (-(2**63), 8)]
)
def test_decimals_in_bytes_are_as_short_as_those_of_java(number: int, size: int) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "d", "type": in_bytes(38, 0)}]}
    table = pa.table({"d": pa.array([Decimal(number)], pa.decimal128(38, 0))})
    data = encoded(table, schema)
    assert data[4:] == bytes([size * 2]) + number.to_bytes(size, "big", signed=True)
    assert decode_records(data, 1, schema, arrow_schema_of(schema)).to_pylist() == table.to_pylist()


def test_missing_columns_are_null_and_no_rows_no_bytes() -> None:
    assert decode_records(encoded(pa.table({"b": [1]}), SMALL), 1, SMALL, arrow_schema_of(SMALL)).to_pylist() == [
        {"a": None, "b": 1}
    ]
    assert encoded(pa.table({"b": pa.array([], pa.int64())}), SMALL) == b""
    assert decode_records(b"", 0, SMALL, arrow_schema_of(SMALL)).num_rows == 0
