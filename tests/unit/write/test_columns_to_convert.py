"""Which columns of a source are judged value by value where there is an error table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.write.row_checks import columns_to_convert

pytestmark = pytest.mark.unit


def converted(table: Any, source: Any) -> bool:
    stored, given = (avro_schema_of(pa.schema([("a", kind)]), "t") for kind in (table, source))
    return columns_to_convert(stored, given, {}) == ("a",)


@pytest.mark.parametrize(
    ("table", "source"),
    [
        (pa.int64(), pa.string()),
        (pa.date32(), pa.string()),
        (pa.decimal128(10, 2), pa.string()),
        (pa.bool_(), pa.string()),
        (pa.timestamp("us", "UTC"), pa.string()),
        (pa.bool_(), pa.int32()),
        (pa.int32(), pa.decimal128(10, 2)),
        (pa.decimal128(6, 2), pa.decimal128(30, 2)),
    ],
)
def test_by_value(table: Any, source: Any) -> None:
    assert converted(table, source)


@pytest.mark.parametrize(
    ("table", "source"),
    [
        (pa.string(), pa.string()),
        (pa.binary(), pa.string()),
        (pa.string(), pa.int64()),
        (pa.int32(), pa.int64()),
        (pa.int64(), pa.int32()),
    ],
)
def test_by_the_types_alone(table: Any, source: Any) -> None:
    assert not converted(table, source)
