"""The fold of log blocks, against the story told record by record."""

from __future__ import annotations

from dataclasses import dataclass, replace
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


@pytest.mark.parametrize(("delete", "stays"), [("2.4999", True), ("2.5", False), ("2.50001", False)])
def test_decimals_compare_across_scales(delete: str, stays: bool) -> None:
    kind = pa.decimal128(10, 2)
    schema = with_ordering_type(kind)
    columns = {RECORD_KEY: ["a"], "ts": pa.array([Decimal("2.50")], kind), "value": ["0"]}
    rows = pa.Table.from_arrays([pa.array(columns.get(each.name, [None]), each.type) for each in schema], schema=schema)
    drop = LogDeletes(
        instant="1",
        keys=pa.array(["a"]),
        partitions=pa.array(["p"]),
        orderings=pa.array([Decimal(delete)], pa.decimal128(30, 15)),
    )
    found = fold_log([LogData(instant="1", table=rows), drop], schema, "ts")
    assert outcome(found) == {"a": "0" if stays else None}
