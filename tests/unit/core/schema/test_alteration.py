"""Changes of a schema that nobody could read or write afterwards are refused before the timeline knows of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
from tests.support.folder import Folder, file_at
from tests.unit.core.schema.altered import V0, alter, make, rows_of, write

pytestmark = pytest.mark.unit

Change = Callable[[InternalSchema], InternalSchema]


def record(*names: str) -> RecordType:
    return RecordType(tuple(Column(id=0, name=name, optional=True, type="int") for name in names))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    made = make(Folder(str(tmp_path_factory.mktemp("alteration"))), merge_on_read=False)
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


def test_what_is_accepted_is_read_and_altered_again(root: Folder) -> None:
    table = make(root, merge_on_read=False)
    write(table, V0)
    alter(table, lambda schema: add_column(schema, "most", "DECIMAL(38, 38)"))
    alter(table, lambda schema: move_column(add_column(schema, "extra", record("a", "b")), "n", first=True))
    alter(table, lambda schema: rename_column(schema, "s.x", "_hoodie_operation"))  # of a struct it is any other name
    assert rows_of(table)["a"] == {
        "n": 1,
        "id": "a",
        "ts": 0,
        "gone": "x",
        "s": {"_hoodie_operation": 1, "y": "p"},
        "most": None,
        "extra": None,
    }


def keyed(path: Folder, **fields: Any) -> HudiTable:
    named = {"record_key_fields": ["id"], "partition_fields": ["part"], "precombine_field": "ts", **fields}
    table = HudiTable.create(str(path / "t"), name="t", **named, lake=path.lake)
    write(table, V0)
    return table


KEYS: dict[str, dict[str, Any]] = {
    "key": {"record_key_fields": ["id", "s.x"]},
    "partition": {"partition_fields": ["s.x"]},
    "custom partition": {
        "partition_fields": ["s.x:SIMPLE"],
        "key_generator_class": "org.apache.hudi.keygen.CustomKeyGenerator",
    },
    "other letters": {"record_key_fields": ["S.X"]},
}


@pytest.mark.parametrize("fields", KEYS.values(), ids=KEYS)
def test_columns_of_keys_inside_structs_stay_as_they_are(root: Folder, fields: dict[str, Any]) -> None:
    refuses_what_touches_the_column(keyed(root, **fields))


def test_so_does_the_column_of_an_order_inside_a_struct(root: Folder) -> None:
    """Of a table that Hudi made; this project makes none."""
    table = keyed(root)
    properties = file_at(table.storage, table.base_path, ".hoodie/hoodie.properties")
    properties.append_text("hoodie.table.precombine.field=s.x\n")
    refuses_what_touches_the_column((root / "t").table())


def refuses_what_touches_the_column(table: HudiTable) -> None:
    changes: list[Change] = [
        lambda schema: drop_column(schema, "s"),
        lambda schema: drop_column(schema, "s.x"),
        lambda schema: rename_column(schema, "s", "t"),
        lambda schema: rename_column(schema, "s.x", "z"),
        lambda schema: widen_column(schema, "s.x", "long"),
        lambda schema: add_column(drop_column(schema, "s.x"), "s.x", "int"),
        lambda schema: rename_column(rename_column(schema, "s", "t"), "n", "s"),
    ]
    for change in changes:
        with pytest.raises(ConfigError, match=r"column [sS]\.[xX] is part of the key, the partition path or the orde"):
            alter(table, change)
    assert len(table.refreshed().timeline.instants) == 1
    alter(table, lambda schema: add_column(rename_column(schema, "s.y", "w"), "s.more", "int", first=True))
    assert rows_of(table)["a"]["s"] == {"more": None, "x": 1, "w": "p"}


def test_a_key_that_the_table_lacks_is_told(root: Folder) -> None:
    with pytest.raises(ConfigError, match=r"no column s\.gone, which is part of its key"):
        alter(keyed(root, record_key_fields=["s.gone"]), lambda schema: add_column(schema, "new", "int"))


@pytest.mark.parametrize("fields", [{"partition_fields": ["later"]}, {"precombine_field": "later"}])
def test_columns_of_paths_alone_are_not_added(root: Folder, fields: dict[str, Any]) -> None:
    table = keyed(root, **fields)
    for change in (
        lambda schema: add_column(schema, "later", "string"),
        lambda schema: rename_column(schema, "gone", "later"),
    ):
        with pytest.raises(ConfigError, match="column later is part of the key"):
            alter(table, change)
    alter(table, lambda schema: drop_column(schema, "gone"))
    assert set(rows_of(table)["a"]) == {"id", "ts", "n", "s"}
