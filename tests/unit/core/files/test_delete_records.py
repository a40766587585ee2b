from __future__ import annotations

import datetime as dt
import io
import struct
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.delete_records import _LIST, DeleteRecords, decode_delete_records, encode_delete_records

MOMENT = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def by_fastavro(rows: list[tuple[str, str, tuple[str, object] | None]]) -> bytes:
    out = io.BytesIO()
    records = []
    for key, partition, ordering in rows:
        value: Any = None
        if ordering is not None:
            value = (f"org.apache.hudi.avro.model.{ordering[0]}Wrapper", {"value": ordering[1]})
        records.append({"recordKey": key, "partitionPath": partition, "orderingVal": value})
    fastavro.schemaless_writer(out, fastavro.parse_schema(_LIST), {"deleteRecordList": records})
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
    assert [run.keys.to_pylist() for run in runs] == [["a"], ["b"], ["c"]]
    assert [run.orderings.type for run in runs] == [pa.int64(), pa.null(), pa.int64()]


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
    for version in (1, 2):
        with pytest.raises(UnsupportedTableError, match=f"DELETE_BLOCK has content version {version}"):
            decode_delete_records(struct.pack(">ii", version, 0))
    with pytest.raises(CorruptTableError, match="delete block"):
        decode_delete_records(encode_delete_records(pa.array(["abc"]), "", None)[:-4])
