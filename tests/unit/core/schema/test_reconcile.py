"""The schema of a write: what Hudi 0.15.0 made of the same sources is told beside each case."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of, with_meta_fields
from spark_jobs.core.schema.changes import rename_column
from spark_jobs.core.schema.internal import walk
from spark_jobs.core.schema.internal_avro import internal_of
from spark_jobs.core.schema.reconcile import SchemaRules, deduce_writer_schema, merge

pytestmark = pytest.mark.unit

PLAIN = SchemaRules()
KEEP = SchemaRules(keep_missing=True)
DROP = SchemaRules(drop_missing=True)
RECONCILE = SchemaRules(keep_missing=True, reconcile=True)
STORED = pa.schema([("id", pa.string()), ("x", pa.int64()), ("y", pa.string())])


def avro(*columns: tuple[str, pa.DataType]) -> dict[str, Any]:
    return avro_schema_of(pa.schema(list(columns)), "t")


def deduced(stored: pa.Schema, given: pa.Schema, rules: SchemaRules = PLAIN) -> pa.Schema:
    return arrow_schema_of(deduce_writer_schema(avro_schema_of(stored, "t"), avro_schema_of(given, "t"), rules).avro)


def test_a_new_table_takes_the_source_as_it_is() -> None:
    source = avro_schema_of(STORED, "t")
    assert deduce_writer_schema(None, source, PLAIN).avro == source


def test_the_same_columns_leave_the_table_s_schema_to_the_letter() -> None:
    table = {**avro_schema_of(STORED, "t"), "name": "Other", "namespace": "n", "doc": "kept"}
    assert deduce_writer_schema(table, avro_schema_of(STORED, "t"), PLAIN).avro == table


def test_the_source_decides_the_order() -> None:
    """As seen: y, mid, x."""
    given = pa.schema([("id", pa.string()), ("y", pa.string()), ("mid", pa.int32()), ("x", pa.int64())])
    assert deduced(STORED, given) == given


def test_the_record_keeps_the_table_s_name() -> None:
    table = {**avro_schema_of(STORED, "t"), "name": "Other", "namespace": "n"}
    found = deduce_writer_schema(table, avro(*[(f.name, f.type) for f in STORED], ("n", pa.int32())), PLAIN).avro
    assert (found["name"], found["namespace"]) == ("Other", "n")


@pytest.mark.parametrize(
    ("stored", "given", "result"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.int32(), pa.float32(), pa.float32()),
        (pa.int64(), pa.float64(), pa.float64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.int64(), pa.string(), pa.string()),
        (pa.int64(), pa.int32(), pa.int64()),
        (pa.float64(), pa.float32(), pa.float64()),
        (pa.string(), pa.float64(), pa.string()),
        (pa.date32(), pa.string(), pa.date32()),
        (pa.binary(), pa.string(), pa.binary()),
        (pa.string(), pa.binary(), pa.string()),
        (pa.decimal128(20, 2), pa.decimal128(19, 1), pa.decimal128(20, 2)),
        (pa.decimal128(19, 2), pa.decimal128(20, 2), pa.decimal128(20, 2)),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), pa.list_(pa.field("element", pa.int64()))),
        (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64())),
        (pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")),
    ],
)
def test_the_wider_type_wins(stored: pa.DataType, given: pa.DataType, result: pa.DataType) -> None:
    assert deduced(pa.schema([("x", stored)]), pa.schema([("x", given)])).field("x").type == result
    assert deduced(pa.schema([("x", stored)]), pa.schema([("x", given)]), KEEP).field("x").type in (result, stored)


@pytest.mark.parametrize(
    ("stored", "given"),
    [
        (pa.int64(), pa.bool_()),
        (pa.int64(), pa.timestamp("us", "UTC")),  # Hudi takes the numbers for microseconds, without a word
        (pa.timestamp("us", "UTC"), pa.int64()),
        (pa.decimal128(20, 2), pa.decimal128(25, 2)),
        (pa.decimal128(20, 2), pa.decimal128(20, 4)),
        (pa.int32(), pa.decimal128(20, 2)),
        (pa.struct([("a", pa.int32())]), pa.string()),
        (pa.list_(pa.int32()), pa.int32()),
        (pa.struct([("a", pa.int32())]), pa.struct([("a", pa.bool_())])),
    ],
)
@pytest.mark.parametrize("rules", [PLAIN, KEEP, RECONCILE])
def test_types_that_would_lose_values_are_refused(stored: Any, given: Any, rules: SchemaRules) -> None:
    with pytest.raises(ConfigError, match=r"column x(\.a)? is .* in the source and .* in the table: convert it"):
        deduced(pa.schema([("x", stored)]), pa.schema([("x", given)]), rules)


def test_a_missing_column_is_refused_unless_it_may_be_null_or_go() -> None:
    given = pa.schema([("id", pa.string()), ("n", pa.float64()), ("x", pa.int64())])
    with pytest.raises(ConfigError, match=r"no column y, which the table has: add it, or set hoodie\.write\.set\.null"):
        deduced(STORED, given)
    assert deduced(STORED, given, KEEP).names == ["id", "n", "x", "y"]
    assert deduced(STORED, given, RECONCILE).names == ["id", "n", "x", "y"]  # Hudi refuses this one
    assert deduced(STORED, given, DROP).names == ["id", "n", "x"]


@pytest.mark.parametrize(
    ("known", "given", "said"),
    [
        (True, [*STORED, pa.field("Y", pa.string())], "column Y of the source and column y"),
        (True, [pa.field("id", pa.string()), pa.field("X", pa.int64()), pa.field("y", pa.string())], "column X of"),
        (False, [*STORED, pa.field("Y", pa.string())], "column Y of the source and column y"),
        (
            False,
            [pa.field("s", pa.struct([("a", pa.string()), ("A", pa.string())]))],
            r"s\.A of the source and .* s\.a",
        ),
    ],
)
@pytest.mark.parametrize("rules", [PLAIN, KEEP, DROP, RECONCILE])
def test_two_columns_of_one_name_but_for_case_are_refused(
    known: bool, given: list[Any], said: str, rules: SchemaRules
) -> None:
    table = avro_schema_of(STORED, "t") if known else None
    with pytest.raises(ConfigError, match=said):
        deduce_writer_schema(table, avro_schema_of(pa.schema(given), "t"), rules)


def test_nested_columns_are_columns_too() -> None:
    both = pa.struct([("x", pa.int64()), ("y", pa.int64())])
    stored, given = pa.schema([("d", both)]), pa.schema([("d", pa.struct([("x", pa.int64())]))])
    with pytest.raises(ConfigError, match=r"no column d\.y"):
        deduced(stored, given)
    assert deduced(stored, given, KEEP) == stored
    assert deduced(given, stored) == stored
    in_list = pa.schema([("d", pa.list_(both))])
    with pytest.raises(ConfigError, match=r"no column d\.element\.y"):
        deduced(in_list, pa.schema([("d", pa.list_(given.field("d").type))]))


def test_a_column_may_be_null_where_either_side_says_so() -> None:
    required = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    optional = pa.schema([("x", pa.int64())])
    assert deduced(required, required) == required
    for rules in (PLAIN, KEEP):
        assert deduced(required, optional, rules) == optional
        assert deduced(optional, required, rules) == optional


def test_with_a_history_new_columns_get_ids_and_old_ones_keep_theirs() -> None:
    history = rename_column(internal_of(with_meta_fields(avro_schema_of(STORED, "t"))), "y", "z").at(20240101000000000)
    table = avro(("id", pa.string()), ("x", pa.int64()), ("z", pa.string()))
    same = deduce_writer_schema(table, table, PLAIN, history)
    assert (same.avro, same.internal) == (table, history)
    source = avro(("id", pa.string()), ("n", pa.struct([("a", pa.int32())])), ("x", pa.int64()), ("z", pa.string()))
    found = deduce_writer_schema(table, source, PLAIN, history)
    assert arrow_schema_of(found.avro).names == ["id", "n", "x", "z"]
    assert found.internal is not None
    assert found.internal.version == 0
    assert {name: column.id for name, column in walk(found.internal.record) if not name.startswith("_hoodie")} == {
        "id": 5,
        "n": 8,
        "n.a": 9,
        "x": 6,
        "z": 7,
    }


def test_only_a_history_that_is_reconciled_lets_numbers_become_decimals() -> None:
    table, source = avro(("x", pa.int32())), avro(("x", pa.decimal128(20, 2)))
    history = internal_of(with_meta_fields(table)).at(1)
    with pytest.raises(ConfigError, match="column x is decimal"):
        deduce_writer_schema(table, source, PLAIN, history)
    found = deduce_writer_schema(table, source, RECONCILE, history)
    assert arrow_schema_of(found.avro).field("x").type == pa.decimal128(20, 2)


def test_a_new_column_comes_before_the_known_one_that_follows_it() -> None:
    old = internal_of(avro(("a", pa.int32()), ("b", pa.int32()), ("c", pa.int32())))
    new = internal_of(avro(("c", pa.int32()), ("n", pa.int32()), ("b", pa.int32()), ("a", pa.int32())))
    assert [column.name for column in merge(new, old).record.columns] == ["n", "a", "b", "c"]


def test_rules_by_their_keys() -> None:
    assert SchemaRules.of({}) == PLAIN
    assert SchemaRules.of({"hoodie.write.set.null.for.missing.columns": "true"}) == KEEP
    assert SchemaRules.of({"hoodie.datasource.write.reconcile.schema": "true"}) == RECONCILE
    assert SchemaRules.of({"hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true"}) == DROP
