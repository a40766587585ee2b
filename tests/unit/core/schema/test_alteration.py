"""Changes of a schema that nobody could read or write afterwards are refused before the timeline knows of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.changes import (
    add_column,
    comment_column,
    drop_column,
    move_column,
    rename_column,
    widen_column,
)
from spark_jobs.core.schema.internal import ArrayType, Column, InternalSchema, RecordType
from spark_jobs.core.table import HudiTable
from tests.unit.core.schema.test_tables import V0, alter, make, rows_of, write

pytestmark = pytest.mark.unit

Change = Callable[[InternalSchema], InternalSchema]


def record(*names: str) -> RecordType:
    return RecordType(tuple(Column(id=0, name=name, optional=True, type="int") for name in names))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    made = make(Path(tmp_path_factory.mktemp("alteration")), merge_on_read=False)
    write(made, V0)
    return made


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda schema: add_column(schema, "bad", "foo"), "no type foo"),
        (lambda schema: add_column(schema, "bad", RecordType(())), "bad"),
        (lambda schema: add_column(schema, "bad", record("a", "A")), r"bad\.[aA]"),
        (lambda schema: add_column(schema, "bad", record("a b")), "'a b'"),
        (lambda schema: add_column(schema, "bad", "decimal(3, 9)"), r"bad would be decimal\(3, 9\)"),
        (lambda schema: add_column(schema, "bad", "decimal(0, 0)"), r"bad would be decimal\(0, 0\)"),
        (
            lambda schema: add_column(schema, "bad", ArrayType(element_id=0, optional=True, element="decimal(50, 2)")),
            r"bad.element would be decimal\(50, 2\)",
        ),
        (lambda schema: widen_column(schema, "n", "decimal(50, 2)"), r"n would be decimal\(50, 2\)"),
        (lambda schema: add_column(schema, "x y", "int"), "'x y'"),
        (lambda schema: add_column(schema, "s.1", "int"), "'1'"),
        (lambda schema: add_column(schema, "", "int"), "''"),
        (lambda schema: rename_column(schema, "n", "b.c"), "'b.c'"),
        (lambda schema: rename_column(schema, "n", ""), "''"),
        (lambda schema: rename_column(schema, "s.x", "é"), "'é'"),
        (lambda schema: drop_column(schema, "_hoodie_record_key"), "_hoodie_record_key is one of Hudi's own"),
        (lambda schema: rename_column(schema, "_hoodie_record_key", "z"), "_hoodie_record_key is one of Hudi's own"),
        (lambda schema: comment_column(schema, "_hoodie_file_name", "z"), "_hoodie_file_name is one of Hudi's own"),
        (lambda schema: add_column(schema, "_hoodie_operation", "string"), "_hoodie_operation is one of Hudi's own"),
        (lambda schema: rename_column(schema, "n", "_HOODIE_operation"), "_HOODIE_operation is one of Hudi's own"),
    ],
)
def test_what_nobody_could_read_is_refused(table: HudiTable, change: Change, named: str) -> None:
    with pytest.raises(ConfigError, match=named) as refused:
        alter(table, change)
    assert "\n" not in str(refused.value)
    assert len(table.refreshed().timeline.instants) == 1
    assert table.refreshed().evolution_at() is None


def test_what_is_accepted_is_read_and_altered_again(tmp_path: Path) -> None:
    table = make(tmp_path, merge_on_read=False)
    write(table, V0)
    alter(table, lambda schema: add_column(schema, "most", "DECIMAL(38, 38)"))
    alter(table, lambda schema: move_column(add_column(schema, "part", record("a", "b")), "n", first=True))
    alter(table, lambda schema: rename_column(schema, "s.x", "_hoodie_operation"))  # of a struct it is any other name
    assert rows_of(table)["a"] == {
        "n": 1,
        "id": "a",
        "ts": 0,
        "gone": "x",
        "s": {"_hoodie_operation": 1, "y": "p"},
        "most": None,
        "part": None,
    }
