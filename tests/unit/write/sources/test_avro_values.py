"""Messages in Avro: as fastavro writes them, with some between them that are no records."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.write.sources.avro_values import decode_values

pytestmark = pytest.mark.unit

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "v", "type": ["null", "string"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ],
}


def encoded(record: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, SCHEMA, record)
    return out.getvalue()


def decoded(values: list[bytes | None]) -> list[dict[str, Any]]:
    array = pa.array([b"before", *values], pa.binary()).slice(1)
    rows: list[dict[str, Any]] = decode_values(array, SCHEMA, arrow_schema_of(SCHEMA), "bad").to_pylist()
    return rows


@pytest.mark.parametrize("bad_at", [(), (0,), (3, 4), (0, 1, 2, 3, 4, 5, 6)])
def test_records_between_others(bad_at: tuple[int, ...]) -> None:
    records = [{"id": number, "v": None if number % 2 else f"v{number}", "at": number} for number in range(7)]
    other = [b"", b"\xff", None, encoded(records[0]) + b"x", encoded(records[2])[:-1], b"\x02\x08", None]
    values = [other[number] if number in bad_at else encoded(record) for number, record in enumerate(records)]
    found = decoded(values)
    assert [number for number, one in enumerate(found) if one["bad"] is not None] == list(bad_at)
    for number, one in enumerate(found):
        if number in bad_at:
            assert (one["id"], one["v"], one["at"]) == (None, None, None)
        else:
            assert (one["id"], one["v"]) == (records[number]["id"], records[number]["v"])


def test_no_values() -> None:
    assert decoded([]) == []
