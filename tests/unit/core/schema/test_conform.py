"""Rows made to fit another schema: by names at every level, or by where their columns come from."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.schema.conform import Origin, conform, conform_values, has_form_of, stored_names

pytestmark = pytest.mark.unit

OLD = pa.struct(
    [
        ("x", pa.int32()),
        ("l", pa.large_list(pa.struct([("k", pa.string())]))),
        ("m", pa.map_(pa.string(), pa.int32())),
    ]
)
NEW = pa.struct(
    [
        ("y", pa.date32()),
        ("l", pa.list_(pa.field("element", pa.struct([("k", pa.string()), ("v", pa.int64())])))),
        ("x", pa.float64()),
        ("m", pa.map_(pa.string(), pa.int64())),
    ]
)
VALUES: list[Any] = [
    {"x": 1, "l": [{"k": "a"}, None], "m": [("q", 1)]},
    None,
    {"x": None, "l": None, "m": []},
    {"x": 4, "l": [], "m": None},
    {"x": 5, "l": [{"k": None}], "m": [("z", None)]},
]
WANTED: list[Any] = [
    {"y": None, "l": [{"k": "a", "v": None}, None], "x": 1.0, "m": [("q", 1)]},
    None,
    {"y": None, "l": None, "x": None, "m": []},
    {"y": None, "l": [], "x": 4.0, "m": None},
    {"y": None, "l": [{"k": None, "v": None}], "x": 5.0, "m": [("z", None)]},
]


@pytest.mark.parametrize("start", range(5))
def test_nested_values_also_in_slices(start: int) -> None:
    found = conform_values(pa.array(VALUES, OLD).slice(start), NEW)
    found.validate(full=True)
    assert found.type == NEW
    assert found.to_pylist() == WANTED[start:]


def test_columns_by_name_and_missing_ones_null() -> None:
    batch = pa.record_batch({"b": [1, 2], "gone": [0, 0], "a": ["x", None]})
    schema = pa.schema([("a", pa.string()), ("new", pa.list_(pa.int8())), ("b", pa.float64())])
    found = conform(batch, schema)
    assert found.schema == schema
    assert found.to_pylist() == [{"a": "x", "new": None, "b": 1.0}, {"a": None, "new": None, "b": 2.0}]


def test_columns_by_their_origins() -> None:
    stored = pa.table(
        {
            "old": [1, 2],
            "again": ["dropped", "too"],
            "s": [{"x": 1, "z": 2}, None],
            "l": pa.array([[{"k": 1}], []], pa.list_(pa.struct([("k", pa.int32())]))),
        }
    )
    origins = {
        "new": Origin("old"),
        "again": Origin(None),
        "s": Origin("s", {"renamed": Origin("x"), "z": Origin(None)}),
        "l": Origin("l", {"element": Origin("element", {"key": Origin("k")})}),
    }
    inner = pa.struct([("renamed", pa.int64()), ("z", pa.int64())])
    element = pa.struct([("key", pa.int64())])
    schema = pa.schema([("new", pa.int64()), ("again", pa.string()), ("s", inner), ("l", pa.list_(element))])
    assert stored_names(schema.names, origins) == ["old", "s", "l"]
    assert conform(stored, schema, origins).to_pylist() == [
        {"new": 1, "again": None, "s": {"renamed": 1, "z": None}, "l": [{"key": 1}]},
        {"new": 2, "again": None, "s": None, "l": []},
    ]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pa.array(["x"]), pa.int32()),
        (pa.array([{"x": 1}]), pa.string()),
        (pa.array([[1]]), pa.struct([("x", pa.int64())])),
        (pa.array([True]), pa.timestamp("us")),
    ],
)
def test_values_that_fit_no_way_are_told_by_column(given: pa.Array[Any], wanted: pa.DataType) -> None:
    with pytest.raises(BadRecordError, match=r"column c holds .* the table has .*: convert the column in the source"):
        conform(pa.record_batch([given], names=["c"]), pa.schema([("c", wanted)]))


@pytest.mark.parametrize(
    ("stored", "fits"),
    [
        (pa.struct([("x", pa.int32()), ("l", pa.list_(pa.field("array", pa.int32()))), ("more", pa.string())]), True),
        (pa.struct([("x", pa.int32())]), False),
        (pa.struct([("x", pa.int16()), ("l", pa.list_(pa.int32()))]), False),
        (pa.string(), False),
    ],
)
def test_which_files_need_no_conversion(stored: pa.DataType, fits: bool) -> None:
    wanted = pa.schema([("s", pa.struct([("x", pa.int32()), ("l", pa.list_(pa.int32()))])), ("later", pa.int32())])
    assert has_form_of(pa.schema([("s", stored)]), wanted) is fits
    assert has_form_of(pa.schema([("t", pa.timestamp("ms", tz="UTC"))]), pa.schema([("t", pa.timestamp("us", "UTC"))]))
    assert not has_form_of(pa.schema([("t", pa.timestamp("us"))]), pa.schema([("t", pa.timestamp("us", "UTC"))]))
