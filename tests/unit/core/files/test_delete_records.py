from __future__ import annotations

import datetime as dt
import io
import struct
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import BadRecordError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.delete_records import DeleteRecords, decode_delete_records, encode_delete_records
from tests.nightly import examples

pytestmark = pytest.mark.unit

KINDS: dict[str, Any] = {
    "Boolean": "boolean",
    "Int": "int",
    "Long": "long",
    "Float": "float",
    "Double": "double",
    "Bytes": "bytes",
    "String": "string",
    "Date": "int",
    "Decimal": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15},
    "TimeMicros": "long",
    "TimestampMicros": "long",
}
WRAPPERS = [
    {"type": "record", "name": f"{name}Wrapper", "fields": [{"name": "value", "type": kind}]}
    for name, kind in KINDS.items()
]
RECORD = {
    "type": "record",
    "name": "HoodieDeleteRecord",
    "fields": [
        {"name": "recordKey", "type": ["null", "string"]},
        {"name": "partitionPath", "type": ["null", "string"]},
        {"name": "orderingVal", "type": ["null", *WRAPPERS]},
    ],
}
LIST = {
    "type": "record",
    "name": "HoodieDeleteRecordList",
    "namespace": "org.apache.hudi.avro.model",
    "fields": [{"name": "deleteRecordList", "type": {"type": "array", "items": RECORD}}],
}
MOMENT = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def by_fastavro(rows: list[tuple[str, str, tuple[str, object] | None]]) -> bytes:
    out = io.BytesIO()
    records = []
    for key, partition, ordering in rows:
        value: Any = None
        if ordering is not None:
            value = (f"org.apache.hudi.avro.model.{ordering[0]}Wrapper", {"value": ordering[1]})
        records.append({"recordKey": key, "partitionPath": partition, "orderingVal": value})
    fastavro.schemaless_writer(out, fastavro.parse_schema(LIST), {"deleteRecordList": records})
    return struct.pack(">ii", 3, len(out.getvalue())) + out.getvalue()


@pytest.mark.parametrize(
    ("orderings", "wrapper", "stored", "read_back"),
    [
        (pa.array([True, False]), "Boolean", [True, False], None),
        (pa.array([1, -2], pa.int16()), "Int", [1, -2], pa.array([1, -2], pa.int32())),
        (pa.array([1, 2**40]), "Long", [1, 2**40], None),
        (pa.array([0.5, 2], pa.float32()), "Float", [0.5, 2.0], None),
        (pa.array([0.5, 2]), "Double", [0.5, 2.0], None),
        (pa.array([b"", b"x"]), "Bytes", [b"", b"x"], None),
        (pa.array(["", "é" * 40]), "String", ["", "é" * 40], None),
        (pa.array([dt.date(1970, 1, 3)] * 2), "Date", [2, 2], None),
        (
            pa.array([Decimal("1.5")] * 2),
            "Decimal",
            [Decimal("1.5")] * 2,
            pa.array([Decimal("1.5")] * 2, pa.decimal128(30, 15)),
        ),
        (pa.array([MOMENT] * 2), "Long", [1704067200000000] * 2, pa.array([1704067200000000] * 2)),
    ],
)
def test_each_class_of_ordering_values(
    orderings: pa.Array, wrapper: str, stored: list[object], read_back: pa.Array | None
) -> None:
    keys, partitions = pa.array(["k1", "ключ"]), pa.array(["p=1", ""])
    content = encode_delete_records(keys, partitions, orderings)
    assert content == by_fastavro([("k1", "p=1", (wrapper, stored[0])), ("ключ", "", (wrapper, stored[1]))])
    expected = orderings if read_back is None else read_back
    assert decode_delete_records(content) == [DeleteRecords(keys=keys, partitions=partitions, orderings=expected)]


def test_natural_order_none_and_mixed() -> None:
    keys = pa.chunked_array([["a"], ["b", "c"]])
    assert encode_delete_records(keys, "p", None) == by_fastavro([(key, "p", ("Int", 0)) for key in "abc"])
    assert encode_delete_records(keys, "p", pa.nulls(3)) == by_fastavro([(key, "p", None) for key in "abc"])
    mixed = encode_delete_records(keys, "p", pa.array([5, None, 6]))
    assert mixed == by_fastavro([("a", "p", ("Long", 5)), ("b", "p", None), ("c", "p", ("Long", 6))])
    runs = decode_delete_records(mixed)
    assert [run.keys.to_pylist() for run in runs] == [["a", "c"], ["b"]]
    assert [run.orderings.type for run in runs] == [pa.int64(), pa.null()]


def test_many_and_no_keys() -> None:
    keys = pa.array([f"key-{number}" for number in range(20_000)])
    assert decode_delete_records(encode_delete_records(keys, "", None))[0].keys == keys
    assert encode_delete_records(pa.array([], pa.string()), "", None) == bytes.fromhex("000000030000000100")
    assert decode_delete_records(bytes.fromhex("000000030000000100")) == []


def test_bad_input_is_named() -> None:
    with pytest.raises(BadRecordError, match="1 keys to delete are null"):
        encode_delete_records(pa.array(["a", None]), "", None)
    with pytest.raises(BadRecordError, match="2 partitions"):
        encode_delete_records(pa.array(["a"]), pa.array(["p", "q"]), None)
    with pytest.raises(BadRecordError, match="no ordering values of type list"):
        encode_delete_records(pa.array(["a"]), "", pa.array([[1]]))
    with pytest.raises(CorruptTableError, match="no Kryo array of delete records"):
        decode_delete_records(struct.pack(">ii", 2, 0))
    with pytest.raises(UnsupportedTableError, match="content version 4"):
        decode_delete_records(struct.pack(">ii", 4, 0))
    with pytest.raises(CorruptTableError, match="delete block"):
        decode_delete_records(encode_delete_records(pa.array(["abc"]), "", None)[:-4])


def test_every_wrapper_is_read_also_those_that_are_not_written() -> None:
    rows: list[tuple[str, str, tuple[str, object] | None]] = [
        ("k", "p", ("TimeMicros", 5)),
        ("l", "p", ("TimestampMicros", -5)),
        ("m", "p", ("TimeMicros", 6)),
    ]
    times, moments = decode_delete_records(by_fastavro(rows))
    assert times.keys.to_pylist() == ["k", "m"]
    assert times.orderings == pa.array([5, 6], pa.time64("us"))
    assert moments.orderings == pa.array([-5], pa.timestamp("us", "UTC"))


def test_lists_in_several_blocks_with_sizes() -> None:
    record = b"\x02\x02a\x00\x00"
    body = b"\x02" + record + b"\x03" + bytes([2 * 2 * len(record)]) + record * 2 + b"\x00"
    [found] = decode_delete_records(struct.pack(">ii", 3, len(body)) + body)
    assert found.keys.to_pylist() == ["a", "a", "a"]
    assert found.partitions.null_count == 3


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_damage_gives_an_error_or_other_deletes(data: st.DataObject) -> None:
    orderings = pa.array([Decimal("1.5"), None, Decimal(-7)], pa.decimal128(30, 15))
    good = bytearray(encode_delete_records(pa.array(["a", "bb", "c"]), "p" * 70, orderings))
    for _ in range(data.draw(st.integers(1, 3))):
        good[data.draw(st.integers(8, len(good) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 3))
    try:
        found = decode_delete_records(bytes(good[: len(good) - cut]))
    except CorruptTableError:
        return
    assert cut == 0
    for part in found:
        part.keys.validate(full=True)
        assert len(part.keys) == len(part.partitions) == len(part.orderings)
