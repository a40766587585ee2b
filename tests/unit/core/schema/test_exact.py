"""Times of a source keep all their digits in the table, or the write stops."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.schema.exact import refuse_cut_times

pytestmark = pytest.mark.unit

WHOLE, BROKEN = dt.datetime(1960, 1, 1, 0, 0, 0, 1000), dt.datetime(1960, 1, 1, 0, 0, 0, 1001)


def check(kind: pa.DataType, values: list[Any], target: pa.DataType) -> None:
    chunks = [pa.array([None], kind), pa.array([None, *values], kind).slice(1)]
    refuse_cut_times(
        pa.table({"x": pa.chunked_array(chunks), "y": [0] * (1 + len(values))}), pa.schema([("x", target)])
    )


def shapes(unit: str) -> dict[str, tuple[pa.DataType, Any]]:
    """Types with a timestamp in them, and how a value of each is made of a time."""
    time = pa.timestamp(unit, "UTC")
    return {
        "plain": (time, lambda value: value),
        "local": (pa.timestamp(unit), lambda value: value),
        "list": (pa.list_(time), lambda value: [None, value]),
        "map": (pa.map_(pa.string(), time), lambda value: [("a", None), ("b", value)]),
        "struct": (pa.struct([("n", pa.int32()), ("t", time)]), lambda value: {"n": 1, "t": value}),
        "deep": (pa.list_(pa.struct([("t", pa.list_(time))])), lambda value: [None, {"t": [value]}]),
    }


@pytest.mark.parametrize("name", shapes("us"))
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_a_time_that_would_be_cut_is_refused(name: str, unit: str) -> None:
    (source, value), (target, _) = shapes(unit)[name], shapes("ms")[name]
    check(source, [value(WHOLE), None], target)
    with pytest.raises(
        BadRecordError, match=r"column x holds 1960-01-01 00:00:00\.001001.*milliseconds only"
    ) as refused:
        check(source, [value(WHOLE), None, value(BROKEN)], target)
    assert "\n" not in str(refused.value)
    check(source, [value(BROKEN)], source)


def test_a_dictionary_of_times() -> None:
    values = pa.array([BROKEN, None], pa.timestamp("us")).dictionary_encode()
    with pytest.raises(BadRecordError, match="column x"):
        refuse_cut_times(pa.table({"x": values}), pa.schema([("x", pa.timestamp("ms"))]))


def test_nanoseconds_behind_microseconds_are_cut() -> None:
    check(pa.timestamp("ns"), [1], pa.timestamp("us"))


def test_columns_of_other_types_and_none() -> None:
    check(pa.int64(), [1], pa.timestamp("ms"))
    check(pa.timestamp("us"), [BROKEN], pa.int64())
    refuse_cut_times(pa.table({"y": [1]}), pa.schema([("x", pa.timestamp("ms"))]))
