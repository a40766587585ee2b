"""The fold of log blocks, against the story told record by record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.log_reader import LogData, LogDeletes
from spark_jobs.core.merge import log_changes
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.log_changes import fold_log
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from tests.unit.core.support import SCHEMA

pytestmark = pytest.mark.unit


@dataclass(frozen=True)
class Put:
    """Records (key, ordering value) of one data block; the value column holds the position of the record."""

    records: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class Drop:
    """Deletes of one block, all with ordering values of one type; ``kind`` int32 with 0 stands for "no value"."""

    records: tuple[tuple[str, int], ...]
    kind: str


Blocks = list[Put | Drop]
LONG = pa.int64()
KEYS = st.sampled_from("abcdef")
ORDERING = st.integers(-2, 3)
BLOCKS = st.lists(
    st.builds(Put, st.lists(st.tuples(KEYS, st.none() | ORDERING), max_size=6).map(tuple))
    | st.builds(Drop, st.lists(st.tuples(KEYS, ORDERING), max_size=4).map(tuple), st.sampled_from(["int64", "int32"])),
    max_size=8,
)


def entries_of(blocks: Blocks, kind: pa.DataType = LONG) -> list[LogData | LogDeletes]:
    schema = with_ordering_type(kind)
    entries: list[LogData | LogDeletes] = []
    position = 0
    for block in blocks:
        keys = [key for key, _ in block.records]
        values = [value for _, value in block.records]
        if isinstance(block, Put):
            own: dict[str, Any] = {
                RECORD_KEY: keys,
                "ts": pa.array(values, kind),
                "value": [str(position + n) for n in range(len(keys))],
            }
            position += len(keys)
            columns = [pa.array(own.get(field.name, [None] * len(keys)), field.type) for field in schema]
            entries.append(LogData(instant="1", table=pa.Table.from_arrays(columns, schema=schema)))
        else:
            orderings = pa.array(values, pa.type_for_alias(block.kind))
            places = pa.array(["p"] * len(keys), pa.string())
            entries.append(
                LogDeletes(instant="1", keys=pa.array(keys, pa.string()), partitions=places, orderings=orderings)
            )
    return entries


def with_ordering_type(kind: pa.DataType) -> pa.Schema:
    return pa.schema([field.with_type(kind) if field.name == "ts" else field for field in SCHEMA])


def told(blocks: Blocks, column: str, *, ordered: bool = True) -> dict[str, str | None]:
    """What each key ends as: the position of its record, or None for a delete; one event after the other."""
    state: dict[str, tuple[int | None, str | None]] = {}
    position = 0
    for block in blocks:
        for key, value in block.records:
            before = state.get(key)
            alive = before is not None and before[1] is not None
            if isinstance(block, Put):
                here, position = str(position), position + 1
                stored = before[0] if alive and before is not None else None
                if ordered and stored is not None and (value is None or stored > value):
                    continue
                state[key] = (value, here)
            else:
                comparable = block.kind == column and not (block.kind == "int32" and value == 0)
                stored = before[0] if alive and before is not None else None
                if ordered and comparable and stored is not None and value is not None and stored > value:
                    continue
                state[key] = (value, None)
    return {key: found for key, (_, found) in state.items()}


def outcome(changes: Changes) -> dict[str, str | None]:
    keys, values = changes.keys.to_pylist(), changes.rows.column("value").to_pylist()
    assert len(keys) == len(set(keys))
    return {
        key: None if gone else value for key, value, gone in zip(keys, values, changes.deleted.tolist(), strict=True)
    }


@settings(max_examples=120, deadline=None)
@given(BLOCKS, st.sampled_from(["int64", "int32"]))
def test_the_fold_is_the_story_told_record_by_record(blocks: Blocks, column: str) -> None:
    kind = pa.type_for_alias(column)
    assert outcome(fold_log(entries_of(blocks, kind), with_ordering_type(kind), "ts")) == told(blocks, column)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BLOCKS, st.integers(1, 5))
def test_folding_bit_by_bit_is_the_same(monkeypatch: pytest.MonkeyPatch, blocks: Blocks, rows: int) -> None:
    whole = outcome(fold_log(entries_of(blocks), SCHEMA, "ts"))
    monkeypatch.setattr(log_changes, "_FOLD_ROWS", rows)
    assert outcome(fold_log(iter(entries_of(blocks)), SCHEMA, "ts")) == whole


@settings(deadline=None)
@given(BLOCKS)
def test_without_an_ordering_column_the_last_word_counts(blocks: Blocks) -> None:
    assert outcome(fold_log(entries_of(blocks), SCHEMA, None)) == told(blocks, "int64", ordered=False)


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([], {}),
        ([Put((("a", 1),)), Put((("a", 1),))], {"a": "1"}),
        ([Put((("a", 2),)), Put((("a", 1),))], {"a": "0"}),
        ([Put((("a", 2),)), Drop((("a", 1),), "int64")], {"a": "0"}),
        ([Put((("a", 2),)), Drop((("a", 2),), "int64")], {"a": None}),
        ([Put((("a", 2),)), Drop((("a", 0),), "int32")], {"a": None}),
        ([Put((("a", 2),)), Drop((("a", 1),), "int32")], {"a": None}),  # of another type: nothing to compare
        ([Drop((("a", 9),), "int64"), Put((("a", 1),))], {"a": "0"}),
        ([Put((("a", None),)), Drop((("a", 1),), "int64")], {"a": None}),
        ([Put((("a", 5),)), Drop((("b", 1),), "int64"), Put((("b", 5),)), Put((("b", None),))], {"a": "0", "b": "1"}),
    ],
)
def test_by_example(blocks: Blocks, expected: dict[str, str | None]) -> None:
    assert outcome(fold_log(entries_of(blocks), SCHEMA, "ts")) == expected


@pytest.mark.parametrize("kind", ["record", "delete"])
def test_a_key_that_is_null_is_named(kind: str) -> None:
    found = entries_of([Put((("a", 1),)), Drop((("b", 1),), "int64")])
    nothing = pa.nulls(1, pa.string())
    put, drop = found
    assert isinstance(put, LogData)
    assert isinstance(drop, LogDeletes)
    place = put.table.schema.get_field_index(RECORD_KEY)
    if kind == "record":
        put = replace(put, table=put.table.set_column(place, put.table.schema.field(place), [nothing]))
    else:
        drop = replace(drop, keys=nothing)
    with pytest.raises(CorruptTableError, match="1 records or deletes in a slice's logs have no record key"):
        fold_log([put, drop], SCHEMA, "ts")


def test_timestamps_compare_with_the_longs_that_delete_blocks_hold() -> None:
    kind = pa.timestamp("us", "UTC")
    schema = with_ordering_type(kind)
    stays = fold_log(entries_of([Put((("a", 2_000),)), Drop((("a", 1_000),), "int64")], kind), schema, "ts")
    goes = fold_log(entries_of([Put((("a", 2_000),)), Drop((("a", 3_000),), "int64")], kind), schema, "ts")
    assert (outcome(stays), outcome(goes)) == ({"a": "0"}, {"a": None})


def puts(kind: pa.DataType, *values: Any) -> LogData:
    """A block with a record of the key ``a`` for each ordering value, whose value is that as text."""
    schema = with_ordering_type(kind)
    columns: dict[str, Any] = {
        RECORD_KEY: ["a"] * len(values),
        "ts": pa.array(values, kind),
        "value": [str(value) for value in values],
    }
    rows = [pa.array(columns.get(each.name, [None] * len(values)), each.type) for each in schema]
    return LogData(instant="1", table=pa.Table.from_arrays(rows, schema=schema))


DECIMAL, WRAPPED = pa.decimal128(10, 2), pa.decimal128(30, 15)
INSTANT = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("column", "record", "delete", "late", "stays"),
    [
        (pa.bool_(), True, pa.bool_(), False, True),
        (pa.int32(), 5, pa.int32(), 1, True),
        (pa.int32(), 5, pa.int64(), 1, False),
        (pa.int64(), 5, pa.int32(), 1, False),  # stored before the column was made wider
        (pa.float32(), 5.5, pa.float32(), 1.5, True),
        (pa.float64(), 5.5, pa.float64(), 1.5, True),
        (pa.binary(), b"b", pa.binary(), b"a", True),
        (pa.string(), "b", pa.string(), "a", False),
        (pa.string(), "b", pa.large_string(), "a", True),  # Utf8, as Hudi 0.13 stored it
        (pa.string(), "b", pa.large_string(), "c", False),
        (pa.date32(), date(2024, 5, 1), pa.date32(), date(2024, 1, 1), False),
        (pa.date32(), date(2024, 5, 1), pa.int32(), 7, True),
        (pa.date32(), date(2024, 5, 1), pa.int32(), 0, False),
        (pa.time64("us"), time(5), pa.int64(), 7, True),
        (INSTANT, datetime(2024, 5, 1, tzinfo=UTC), INSTANT, datetime(2024, 1, 1, tzinfo=UTC), False),
        (DECIMAL, Decimal("2.50"), WRAPPED, Decimal("2.4999"), False),
        (DECIMAL, Decimal("2.50"), WRAPPED, Decimal("2.50001"), False),
        (pa.binary(2), b"bb", pa.binary(), b"aa", False),
    ],
)
def test_a_late_delete_yields_where_java_has_one_class_for_both(
    column: pa.DataType, record: object, delete: pa.DataType, late: object, stays: bool
) -> None:
    drop = LogDeletes(instant="1", keys=pa.array(["a"]), partitions=pa.array(["p"]), orderings=pa.array([late], delete))
    found = fold_log([puts(column, record), drop], with_ordering_type(column), "ts")
    assert outcome(found) == {"a": str(record) if stays else None}


@pytest.mark.parametrize(
    ("values", "winner"),
    [
        (["-1.5", "2.5"], "-1.5"),
        (["1.5", "-2"], "-2"),
        (["-1", "-5"], "-1"),
        (["-5", "-1"], "-1"),
        (["300.25", "2.5"], "300.25"),
        (["0", "-0.01", "2.5", "0"], "-0.01"),
        (["2.5", "2.50"], "2.50"),
        ([None, "-5", "1"], "-5"),
    ],
)
def test_a_negative_decimal_is_greater_than_those_that_are_not(values: list[str | None], winner: str) -> None:
    block = puts(DECIMAL, *(None if value is None else Decimal(value) for value in values))
    for entries in ([block], [replace(block, table=block.table.slice(at, 1)) for at in range(len(values))]):
        assert outcome(fold_log(entries, with_ordering_type(DECIMAL), "ts")) == {"a": winner}
