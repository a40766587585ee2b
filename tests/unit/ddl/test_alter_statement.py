"""Statements of ``alter table``, and what they make of a schema."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.schema.internal import InternalSchema, walk
from spark_jobs.core.schema.internal_avro import internal_of
from spark_jobs.ddl.alter_statement import parse_alter_table

pytestmark = pytest.mark.unit

STOPS = pa.list_(pa.field("element", pa.struct([("name", pa.string()), ("at", pa.int64())])))
TRIPS = pa.schema(
    [
        ("id", pa.int64()),
        ("fare", pa.float32()),
        pa.field("city", pa.string(), nullable=False),
        ("home", pa.struct([("street", pa.string()), ("no", pa.int32())])),
        ("stops", STOPS),
    ]
)


def before() -> InternalSchema:
    return internal_of(avro_schema_of(TRIPS, "trips"))


def columns(text: str) -> dict[str, str]:
    """Full names and types of all columns after a statement, in their order."""
    after = parse_alter_table(text)(before())
    return {name: str(column.type) for name, column in walk(after.record) if isinstance(column.type, str)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add columns (tip double)", ["id", "fare", "city", "home.street", "home.no", "stops", "tip:double"]),
        (
            "ADD COLUMN tip DECIMAL(10, 2)",
            ["id", "fare", "city", "home.street", "home.no", "tip:decimal(10, 2)"],
        ),
        (
            "add columns (a int first, b string after id, home.zip string after street)",
            ["a:int", "id", "b:string", "fare", "city", "home.street", "home.zip:string", "home.no", "stops"],
        ),
        ("drop column fare", ["id", "city", "home.street", "home.no", "stops"]),
        ("drop columns (fare, home.no)", ["id", "city", "home.street", "stops"]),
        ("drop column if exists nothing", ["id", "fare", "city", "home.street", "home.no", "stops"]),
        ("rename column fare to price", ["id", "price:float", "city", "home.street", "home.no", "stops"]),
        ("rename column home.no to number", ["id", "fare", "city", "home.street", "home.number:int", "stops"]),
        ("alter column fare type double", ["id", "fare:double", "city", "home.street", "home.no", "stops"]),
        ("change column home.no type bigint;", ["id", "fare", "city", "home.street", "home.no:long", "stops"]),
        ("alter column fare first", ["fare", "id", "city", "home.street", "home.no", "stops"]),
        ("alter column home.street after no", ["id", "fare", "city", "home.no", "home.street", "stops"]),
        (
            "alter column `fare` type decimal(12, 3) comment 'in $' after `city`",
            ["id", "city", "fare:decimal(12, 3)", "home.street", "home.no", "stops"],
        ),
    ],
)
def test_each_change(text: str, expected: list[str]) -> None:
    found = columns(f"alter table lake.Trips {text}")
    names = [name for name in found if not name.startswith("stops")]
    assert names == [one.partition(":")[0] for one in expected if one != "stops"]
    for one in expected:
        name, _, kind = one.partition(":")
        assert not kind or found[name] == kind


def test_members_of_lists_comments_and_nulls() -> None:
    statement = parse_alter_table("alter table trips alter column stops.element.at comment 'UTC, it\\'s'")
    assert dict(walk(statement(before()).record))["stops.element.at"].doc == "UTC, it's"
    city = parse_alter_table("alter table trips alter column city drop not null")(before()).record.find("city")
    assert city is not None
    assert city.optional
    added = parse_alter_table("alter table trips add columns (tip double comment 'in dollars')")(before())
    assert added.record.columns[-1].doc == "in dollars"


def test_names_and_one_text_for_one_meaning() -> None:
    statement = parse_alter_table("ALTER TABLE lake.Trips\n  RENAME COLUMN fare TO price ;")
    assert (statement.database, statement.name) == ("lake", "trips")
    assert statement.text == "ALTER TABLE lake.Trips RENAME COLUMN fare TO price".replace("lake.Trips", "lake . Trips")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("drop table trips", "is no ALTER TABLE"),
        ("alter table trips", "no change of columns"),
        ("alter table a.b.c drop column x", "has 3 parts"),
        ("alter table trips set tblproperties ('a' = 'b')", "no change of columns"),
        ("alter table trips rename to rides", "no change of columns"),
        ("alter table trips add columns (tip double not null)", "NOT NULL"),
        ("alter table trips add columns (tip money)", "can't be read"),
        ("alter table trips add columns (fare double)", "there is a column fare already"),
        ("alter table trips drop column none", "there is no column none"),
        ("alter table trips alter column fare", "nothing is said of column fare"),
        ("alter table trips alter column fare type int", "can't become int"),
        ("alter table trips alter column fare first first", "FIRST stands there twice"),
        ("alter table trips alter column fare set default 1", "no change of columns"),
        ("alter table trips alter column", "a name is missing"),
        ("alter table trips drop column a; alter table trips drop column b", "2 statements"),
        ("alter table trips drop column a, 'x", "can't be read"),
    ],
)
def test_what_is_no_change_of_columns(text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        parse_alter_table(text)(before())
