"""Values of a source keep their kind and all their digits in the table, or the write stops."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.schema.exact import refuse_cut_times, refuse_other_kinds

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


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (pa.bool_(), pa.int32()),
        (pa.bool_(), pa.float64()),
        (pa.int64(), pa.bool_()),
        (pa.date32(), pa.int32()),
        (pa.date32(), pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), pa.int64()),
        (pa.int32(), pa.date32()),
        (pa.dictionary(pa.int32(), pa.bool_()), pa.int32()),
        (pa.struct([("a", pa.list_(pa.bool_()))]), pa.struct([("b", pa.int32()), ("a", pa.list_(pa.int32()))])),
        (pa.map_(pa.string(), pa.date32()), pa.map_(pa.string(), pa.int32())),
    ],
)
def test_other_kinds_of_values_are_refused(source: pa.DataType, target: pa.DataType) -> None:
    with pytest.raises(BadRecordError, match=r"column x holds .*, the table has .*: convert it in the source"):
        refuse_other_kinds(pa.schema([("x", source)]), pa.schema([("x", target)]))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (pa.int32(), pa.decimal128(10, 2)),
        (pa.int64(), pa.float64()),
        (pa.date32(), pa.string()),
        (pa.string(), pa.date32()),
        (pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")),
        (pa.int64(), pa.time64("us")),  # as Spark has times of a day
        (pa.null(), pa.bool_()),
        (pa.bool_(), pa.bool_()),
    ],
)
def test_types_that_may_become_one_another_are_not(source: pa.DataType, target: pa.DataType) -> None:
    refuse_other_kinds(pa.schema([("x", source), ("z", pa.bool_())]), pa.schema([("x", target), ("y", pa.int32())]))
