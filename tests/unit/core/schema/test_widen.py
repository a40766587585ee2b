"""Values in a wider type: what Hudi makes of them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.schema.widen import java_text, widen

pytestmark = pytest.mark.unit

DAY = dt.date(1969, 12, 31)


@pytest.mark.parametrize(
    ("source", "values", "target", "expected"),
    [
        (pa.int32(), [16_777_217, None], pa.float32(), [16_777_216.0, None]),
        (pa.int64(), [2**53 + 1], pa.float64(), [float(2**53)]),
        (pa.float32(), [1.1, None], pa.float64(), [1.100000023841858, None]),
        (pa.int64(), [-5, None], pa.string(), ["-5", None]),
        (pa.float64(), [1.0, 1e10, None], pa.string(), ["1.0", "1.0E10", None]),
        (pa.float32(), [1.1], pa.string(), ["1.1"]),
        (pa.decimal128(5, 2), [Decimal("1.50")], pa.string(), ["1.50"]),
        (pa.date32(), [DAY], pa.string(), ["1969-12-31"]),
        (pa.string(), ["1969-12-31", None], pa.date32(), [DAY, None]),
        (pa.string(), ["1.005"], pa.decimal128(9, 2), [Decimal("1.01")]),
        (pa.float64(), [2.25], pa.decimal128(9, 1), [Decimal("2.3")]),
        (pa.int64(), [2**62], pa.decimal128(22, 2), [Decimal(2**62)]),
        (pa.decimal128(5, 2), [Decimal("1.50")], pa.decimal128(9, 4), [Decimal("1.5000")]),
        (pa.string(), ["é"], pa.binary(), ["é".encode()]),
        (pa.binary(), ["é".encode()], pa.string(), ["é"]),
        (pa.binary(2), [b"ab"], pa.string(), ["ab"]),
        (pa.timestamp("us"), [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)], pa.timestamp("ms"), None),
        (pa.dictionary(pa.int32(), pa.string()), ["a", None, "a"], pa.string(), ["a", None, "a"]),
        (pa.large_string(), ["a"], pa.string(), ["a"]),
    ],
)
def test_values(source: pa.DataType, values: list[Any], target: pa.DataType, expected: list[Any] | None) -> None:
    found = widen(pa.array(values, source), target)
    assert found.type == target
    if expected is None:  # cut to the millisecond towards the past
        assert found.cast(pa.int64()).to_pylist() == [-1]
    else:
        assert found.to_pylist() == expected


@pytest.mark.parametrize(
    ("source", "values", "target"),
    [
        (pa.string(), ["soon"], pa.date32()),
        (pa.string(), ["much"], pa.decimal128(9, 2)),
        (pa.string(), ["12345678.9"], pa.decimal128(9, 2)),
        (pa.binary(), [b"\xff"], pa.string()),
        (pa.decimal128(9, 2), [Decimal("1.01")], pa.decimal128(9, 1)),
        (pa.int64(), [2**40], pa.int32()),
    ],
)
def test_values_without_a_counterpart(source: pa.DataType, values: list[Any], target: pa.DataType) -> None:
    with pytest.raises(pa.ArrowInvalid):
        widen(pa.array(values, source), target)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9_999_999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.5e-300, "-1.5E-300"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles_as_java_writes_them(value: float, text: str) -> None:
    assert java_text(value) == text
