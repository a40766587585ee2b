"""Rows of every type that Spark, Avro and Hudi share, and the steps of tables whose schema changes on write."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

KEY: Final = "id"
PARTITION: Final = "p"
PRECOMBINE: Final = "ts"

_ADDRESS = pa.struct([("street", pa.string()), ("number", pa.int32())])
TYPED: Final = pa.schema(
    [
        (KEY, pa.string()),
        (PARTITION, pa.int32()),
        (PRECOMBINE, pa.int64()),
        ("flag", pa.bool_()),
        ("tiny", pa.int8()),
        ("small", pa.int16()),
        ("whole", pa.int32()),
        ("big", pa.int64()),
        ("single", pa.float32()),
        ("twice", pa.float64()),
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("money", pa.decimal128(9, 2)),
        ("amount", pa.decimal128(18, 4)),
        ("huge", pa.decimal128(38, 10)),
        ("day", pa.date32()),
        ("moment", pa.timestamp("us", tz="UTC")),
        ("place", pa.struct([("city", pa.string()), ("at", _ADDRESS), ("since", pa.date32())])),
        ("words", pa.list_(pa.string())),
        ("grid", pa.list_(pa.list_(pa.int32()))),
        ("stops", pa.list_(pa.struct([("name", pa.string()), ("when", pa.timestamp("us", tz="UTC"))]))),
        ("sizes", pa.map_(pa.string(), pa.int64())),
        ("people", pa.map_(pa.string(), _ADDRESS)),
        ("prices", pa.list_(pa.decimal128(7, 3))),
    ]
)
"""Without nulls inside lists, which Hudi's own writer can't store at its defaults."""

DAYS = (dt.date(1582, 10, 15), dt.date(1899, 12, 31), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31))
MOMENTS = tuple(
    dt.datetime(*parts, tzinfo=dt.UTC)
    for parts in (
        (1900, 1, 1, 0, 0, 0, 1),
        (1969, 12, 31, 23, 59, 59, 999_999),
        (1970, 1, 1),
        (2024, 2, 29, 12, 30, 15, 123_456),
        (9999, 12, 31, 23, 59, 59, 999_999),
    )
)


def typed(numbers: range, revision: int = 0) -> pa.Table:
    """One row for each number; every seventh has nulls wherever they may be, the next nulls inside its structs."""
    return pa.Table.from_pylist([_typed_row(number, revision) for number in numbers], schema=TYPED)


def _typed_row(number: int, revision: int) -> dict[str, Any]:
    row: dict[str, Any] = {KEY: f"k{number:03}", PARTITION: number % 2, PRECOMBINE: revision}
    if number % 7 == 3:
        return row
    value, sign = number + 1000 * revision, -1 if number % 3 else 1
    hollow = number % 7 == 4
    address = {"street": None if hollow else f"street {value}", "number": None if hollow else value}
    return {
        **row,
        "flag": number % 2 == 0,
        "tiny": sign * (number % 128),
        "small": sign * (value % 32768),
        "whole": sign * value * 70_001,
        "big": sign * (2**62 + value),
        "single": sign * value / 7,
        "twice": sign * value / 3,
        "text": f"täxt {value} \U0001f600",
        "raw": bytes([number % 256, 0, 255, revision]),
        "money": Decimal(sign * value * 100_003).scaleb(-2),
        "amount": Decimal(sign * (10**17 + value)).scaleb(-4),
        "huge": Decimal(sign * (10**37 + value)).scaleb(-10),
        "day": DAYS[number % len(DAYS)],
        "moment": MOMENTS[number % len(MOMENTS)],
        "place": {"city": f"c{value}", "at": None if hollow else address, "since": DAYS[number % len(DAYS)]},
        "words": [] if hollow else [f"w{part}" for part in range(number % 4)],
        "grid": [[value, -value], [], [number]],
        "stops": [{"name": None if hollow else f"s{value}", "when": None if hollow else MOMENTS[number % 5]}],
        "sizes": [("a", value), ("none", None)],
        "people": [("one", address), ("nobody", None)],
        "prices": [Decimal(sign * value).scaleb(-3)],
    }


def _pair(**fields: pa.DataType) -> pa.DataType:
    return pa.struct(list(fields.items()))


STEPS: Final = (
    pa.schema(
        [
            (KEY, pa.string()),
            (PARTITION, pa.int32()),
            (PRECOMBINE, pa.int64()),
            ("a", pa.int32()),
            ("b", pa.float32()),
            ("c", pa.int32()),
            ("d", _pair(x=pa.int32())),
            ("e", pa.list_(_pair(k=pa.string()))),
            ("f", pa.int64()),
            ("m", pa.map_(pa.string(), pa.int32())),
        ]
    ),
    pa.schema(  # one more at the end
        [
            (KEY, pa.string()),
            (PARTITION, pa.int32()),
            (PRECOMBINE, pa.int64()),
            ("a", pa.int32()),
            ("b", pa.float32()),
            ("c", pa.int32()),
            ("d", _pair(x=pa.int32())),
            ("e", pa.list_(_pair(k=pa.string()))),
            ("f", pa.int64()),
            ("m", pa.map_(pa.string(), pa.int32())),
            ("g", pa.string()),
        ]
    ),
    pa.schema(  # promoted at the top, in a struct and in a map
        [
            (KEY, pa.string()),
            (PARTITION, pa.int32()),
            (PRECOMBINE, pa.int64()),
            ("a", pa.int64()),
            ("b", pa.float64()),
            ("c", pa.float32()),
            ("d", _pair(x=pa.int64())),
            ("e", pa.list_(_pair(k=pa.string()))),
            ("f", pa.float64()),
            ("m", pa.map_(pa.string(), pa.int64())),
            ("g", pa.string()),
        ]
    ),
    pa.schema(  # in another order, with new ones in the middle and inside
        [
            (KEY, pa.string()),
            ("h", pa.date32()),
            ("b", pa.float64()),
            ("a", pa.int64()),
            (PRECOMBINE, pa.int64()),
            ("c", pa.float32()),
            ("d", _pair(x=pa.int64(), y=pa.string())),
            ("e", pa.list_(_pair(k=pa.string(), v=pa.int64()))),
            ("f", pa.float64()),
            ("m", pa.map_(pa.string(), pa.int64())),
            ("g", pa.string()),
            (PARTITION, pa.int32()),
        ]
    ),
)
"""The schemas of successive writes."""


def stepped(step: int, numbers: range) -> pa.Table:
    """Rows of one of the steps; the partition is the number's last digit of base 4."""
    schema = STEPS[step]
    rows = []
    for number in numbers:
        value = 16_777_217 + number + 1000 * step  # beyond what a float holds exactly
        row: dict[str, Any] = {
            KEY: f"k{number:03}",
            PARTITION: number % 4,
            PRECOMBINE: step,
            "a": value,
            "b": 1.1 + number,
            "c": value,
            "d": {"x": value, "y": f"y{value}"},
            "e": [{"k": f"k{value}", "v": value}],
            "f": 2**53 + 1 + number,
            "m": [("one", value)],
            "g": f"g{value}",
            "h": dt.date(1960, 1, 1) + dt.timedelta(days=number),
        }
        if number % 5 == 0:
            row.update(a=None, b=None, d=None, e=[], m=[])
        for name, value_in in row.items():
            if name in schema.names and pa.types.is_floating(schema.field(name).type) and value_in is not None:
                row[name] = float(value_in)
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=schema)
