"""What becomes of each column of a source, by the rules that make the writer's schema."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.schema.fit import Fit, column_fits
from spark_jobs.core.schema.internal_avro import internal_of
from spark_jobs.core.schema.reconcile import SchemaRules, deduce_writer_schema, type_name

pytestmark = pytest.mark.unit

RULES = {
    "none": SchemaRules(),
    "keep": SchemaRules(keep_missing=True),
    "drop": SchemaRules(drop_missing=True),
    "reconcile": SchemaRules(keep_missing=True, reconcile=True),
}
TYPES = {
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "boolean": pa.bool_(),
    "decimal": pa.decimal128(10, 2),
    "wide": pa.decimal128(20, 2),
    "struct": pa.struct([("x", pa.int32())]),
    "more": pa.struct([("x", pa.int64()), ("y", pa.string())]),
    "list": pa.list_(pa.int32()),
}


def schema(**columns: str) -> dict[str, Any]:
    return avro_schema_of(pa.schema([(name, TYPES[kind]) for name, kind in columns.items()]), "t")


def fits(table: dict[str, Any] | None, source: dict[str, Any], rules: SchemaRules = RULES["none"]) -> dict[str, str]:
    return {one.name: one.fit.value for one in column_fits(table, source, rules)}


@pytest.mark.parametrize(
    ("table", "source", "fit"),
    [
        ("int", "int", "same"),
        ("int", "long", "promoted"),
        ("int", "string", "promoted"),
        ("long", "int", "narrower"),
        ("date", "string", "narrower"),
        ("string", "binary", "narrower"),
        ("boolean", "int", "refused"),
        ("wide", "decimal", "narrower"),
        ("decimal", "wide", "refused"),
        ("int", "struct", "refused"),
        ("list", "struct", "refused"),
    ],
)
def test_types(table: str, source: str, fit: str) -> None:
    assert fits(schema(a=table), schema(a=source))["a"] == fit


def test_columns_that_one_side_lacks() -> None:
    table, source = schema(a="int", b="int"), schema(c="string", a="int")
    assert fits(None, source) == {"c": "new", "a": "new"}
    assert fits(table, source) == {"c": "new", "a": "same", "b": "missing: refused"}
    assert fits(table, source, RULES["keep"])["b"] == "missing: null"
    assert fits(table, source, RULES["drop"])["b"] == "missing: dropped"


def test_inner_columns() -> None:
    found = fits(schema(a="struct"), schema(a="more"))
    assert found == {"a": "promoted", "a.x": "promoted", "a.y": "new"}
    assert fits(schema(a="more"), schema(a="struct"))["a.y"] == "missing: refused"


def test_for_a_reader() -> None:
    told = [
        one.text for one in column_fits(schema(a="int", b="long", c="int"), schema(a="long", b="int"), RULES["none"])
    ]
    assert told == [
        "a: promoted (int in the table, long in the source)",
        "b: narrower (int in the source becomes long)",
        "c: missing: refused (int)",
    ]


COLUMNS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(sorted(TYPES)), min_size=1)


@given(table=COLUMNS, source=COLUMNS, rules=st.sampled_from(sorted(RULES)))
def test_agrees_with_what_a_write_does(table: dict[str, str], source: dict[str, str], rules: str) -> None:
    """A write is refused where a column is, and stores promoted columns as the source's type, others as the table's."""
    stored, incoming = schema(**table), schema(**source)
    found = column_fits(stored, incoming, RULES[rules])
    try:
        written = deduce_writer_schema(stored, incoming, RULES[rules])
    except ConfigError:
        assert any(one.fit.is_refused for one in found)
        return
    assert not any(one.fit.is_refused for one in found)
    types = {one.name: type_name(one.type) for one in internal_of(written.avro).record.columns}
    for one in found:
        if "." in one.name:
            continue
        if one.fit is Fit.DROPPED:
            assert one.name not in types
        else:
            wanted = one.source if one.fit in (Fit.NEW, Fit.PROMOTED) else one.table
            assert types[one.name] == wanted
