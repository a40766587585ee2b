"""Records of any schema."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

LONG = st.integers(-(2**63), 2**63 - 1) | st.integers(-130, 130)
INT = st.integers(-(2**31), 2**31 - 1) | st.integers(-70, 70)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=90)
UTC = dt.UTC


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    bound = 10**precision - 1
    return st.integers(-bound, bound).map(lambda number: Decimal(f"{number}e-{scale}"))


def is_least_of_its_size(value: Decimal) -> bool:
    """-128, -32768 and so on: fastavro spends a byte more on them than Java's BigInteger."""
    digits = int("".join(map(str, value.as_tuple().digits)))
    return value < 0 and digits.bit_count() == 1 and digits.bit_length() % 8 == 0


def fixed(name: str, size: int, precision: int, scale: int) -> dict[str, Any]:
    names = {"name": name, "namespace": "n", "size": size}
    return {"type": "fixed", **names, "logicalType": "decimal", "precision": precision, "scale": scale}


def logical(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "logicalType": name}


def in_bytes(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


MOMENTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9998, 1, 1))
TYPES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("boolean", st.booleans()),
    ("int", INT),
    ("long", LONG),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("string", TEXT),
    ("bytes", st.binary(max_size=80)),
    ({"type": "string", "avro.java.string": "String"}, TEXT),
    ({"type": "enum", "name": "colour", "symbols": ["red", "green", "blue"]}, st.sampled_from(["red", "blue"])),
    ({"type": "fixed", "name": "five", "size": 5}, st.binary(min_size=5, max_size=5)),
    (logical("int", "date"), st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))),
    (logical("long", "timestamp-micros"), MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC))),
    (
        logical("long", "timestamp-millis"),
        MOMENTS.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)),
    ),
    (logical("long", "local-timestamp-micros"), MOMENTS),
    (fixed("f3", 3, 5, 2), decimals(5, 2)),
    (fixed("f8", 8, 18, 0), decimals(18, 0)),
    (fixed("f9", 9, 19, 4), decimals(19, 4)),
    (fixed("f16", 16, 38, 10), decimals(38, 10)),
    (in_bytes(12, 3), decimals(12, 3).filter(lambda value: not is_least_of_its_size(value))),
    (in_bytes(38, 6), decimals(38, 6).filter(lambda value: not is_least_of_its_size(value))),
]


@st.composite
def kinds(draw: st.DrawFn, depth: int, names: Iterator[int]) -> tuple[Any, st.SearchStrategy[Any]]:
    """A type and its values; unions with null, records, arrays and maps down to ``depth``."""
    form = draw(st.sampled_from(["flat", "flat", "record", "array", "map"] if depth else ["flat"]))
    value: st.SearchStrategy[Any]
    if form == "flat":
        kind, value = draw(st.sampled_from(TYPES))
        if isinstance(kind, dict) and "name" in kind:
            kind = {**kind, "name": f"t{next(names)}"}
    elif form == "record":
        inner = {f"f{number}": draw(kinds(depth - 1, names)) for number in range(draw(st.integers(1, 3)))}
        fields = [{"name": name, "type": each} for name, (each, _) in inner.items()]
        kind = {"type": "record", "name": f"t{next(names)}", "fields": fields}
        value = st.fixed_dictionaries({name: each for name, (_, each) in inner.items()})
    else:
        item, values = draw(kinds(depth - 1, names))
        kind = {"type": "array", "items": item} if form == "array" else {"type": "map", "values": item}
        value = st.lists(values, max_size=4) if form == "array" else st.dictionaries(TEXT, values, max_size=3)
    null = draw(st.sampled_from(["none", "first", "last"]))
    if null == "none":
        return kind, value
    return ["null", kind] if null == "first" else [kind, "null"], st.none() | value


@st.composite
def records(draw: st.DrawFn, depth: int = 0) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    names = itertools.count()
    columns = {f"c{number}": draw(kinds(depth, names)) for number in range(draw(st.integers(1, 8 if not depth else 3)))}
    fields = [{"name": name, "type": kind} for name, (kind, _) in columns.items()]
    values = st.fixed_dictionaries({name: value for name, (_, value) in columns.items()})
    schema = {"type": "record", "name": "r", "namespace": "n", "fields": fields}
    return schema, draw(st.lists(values, max_size=12))
