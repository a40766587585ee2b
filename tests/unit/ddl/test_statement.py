"""Statements as values, and what is refused by name."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import ConfigError, HudiError
from spark_jobs.ddl.statement import parse_create_table
from spark_jobs.ddl.types import COMMENT

pytestmark = pytest.mark.unit


def test_a_whole_statement() -> None:
    found = parse_create_table(
        """
        CREATE TABLE IF NOT EXISTS Lake.Trips (
            id BIGINT NOT NULL COMMENT 'the key',
            dt STRING,
            ts TIMESTAMP -- when
        ) USING hudi
        OPTIONS (type 'cow', primaryKey = 'nothing', hoodie.a.b 3)
        PARTITIONED BY (DT)
        COMMENT 'all trips'
        TBLPROPERTIES (type = 'mor', 'primaryKey' = 'id', hoodie.c = true)
        LOCATION '/lake/trips';
        """
    )
    assert (found.database, found.name, found.if_not_exists) == ("lake", "trips", True)
    assert (found.location, found.comment) == ("/lake/trips", "all trips")
    assert found.partition_fields == ("dt",)
    assert found.schema.equals(
        pa.schema(
            [
                pa.field("id", pa.int64(), nullable=False),
                pa.field("ts", pa.timestamp("us", tz="UTC")),
                pa.field("dt", pa.string()),
            ]
        )
    )
    assert found.schema.field("id").metadata == {COMMENT: b"the key"}
    assert found.options == {"type": "mor", "primaryKey": "id", "hoodie.a.b": "3", "hoodie.c": "true"}


@pytest.mark.parametrize(
    "name", ["hudi", "HUDI", "`hudi`", "org.apache.hudi", "Org.Apache.Hudi", "`org.apache.hudi`", "org . apache.hudi"]
)
def test_names_of_the_format(name: str) -> None:
    found = parse_create_table(
        f"create table t (`select` int comment 'using org.apache.hudi') using {name} tblproperties (type = 'mor')"
    )
    assert found.schema.field("select").metadata == {COMMENT: b"using org.apache.hudi"}
    assert found.options == {"type": "mor"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("boolean", pa.bool_()),
        ("tinyint", pa.int8()),
        ("byte", pa.int8()),
        ("smallint", pa.int16()),
        ("short", pa.int16()),
        ("int", pa.int32()),
        ("integer", pa.int32()),
        ("bigint", pa.int64()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("real", pa.float32()),
        ("double", pa.float64()),
        ("decimal", pa.decimal128(10, 0)),
        ("decimal(5)", pa.decimal128(5, 0)),
        ("dec(7, 3)", pa.decimal128(7, 3)),
        ("numeric(38, 38)", pa.decimal128(38, 38)),
        ("string", pa.string()),
        ("char(3)", pa.string()),
        ("varchar(5)", pa.string()),
        ("binary", pa.binary()),
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestamp_ltz", pa.timestamp("us", tz="UTC")),
        ("array<int>", pa.list_(pa.field("element", pa.int32()))),
        ("map<string, date>", pa.map_(pa.string(), pa.date32())),
        ("struct<a: int, b string>", pa.struct([("a", pa.int32()), ("b", pa.string())])),
        ("struct<a: int not null>", pa.struct([pa.field("a", pa.int32(), nullable=False)])),
        (
            "array<struct<m: map<string, array<decimal(3,1)>>>>",
            pa.list_(
                pa.field(
                    "element",
                    pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.field("element", pa.decimal128(3, 1)))))]),
                )
            ),
        ),
    ],
)
def test_types(text: str, expected: pa.DataType) -> None:
    schema = parse_create_table(f"create table t (c {text}) using hudi").schema
    assert schema.field("c").type.equals(expected)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("select 1", r"\(select 1 ...\) is no CREATE TABLE"),
        ("create view v as select 1", r"\(create view ...\) is no CREATE TABLE"),
        ("create table t using hudi as select 1 as a", "AS SELECT is not supported: create the table, then write"),
        ("create table t (a int) using hudi as (select 1)", "AS SELECT is not supported"),
        ("create table t (select int, b int) using hudi", "a SELECT stands where.*of that name in backquotes"),
        ("create or replace table t (a int) using hudi", "OR REPLACE"),
        ("create table t like u", "the clause LIKE u is not supported"),
        ("create table t (a int) using parquet", "a table of parquet: write USING hudi"),
        ("create table t (a int) stored as parquet", "STORED AS PARQUET is not supported"),
        ("create table t using hudi", "t has no columns"),
        ("create table t (a int) using hudi; drop table t", "2 statements: give one"),
        ("", "0 statements"),
        ("create table a.b.t (a int) using hudi", "not of the form name or db.name"),
        ("create temporary table t (a int) using hudi", "TEMPORARY is not supported"),
        ("create table t (a int) using hudi clustered by (a) into 4 buckets", "CLUSTERED BY .* is not supported"),
        ("create table t (a int, dt string) using hudi partitioned by (day)", "names day.*the columns are a, dt"),
        ("create table t (a int, ts timestamp) using hudi partitioned by (days(ts))", "partitioned by DAYS"),
        ("create table t (a int, b int) using hudi partitioned by (b, B)", "b stands twice in PARTITIONED BY"),
        ("create table t (a int, b int) using hudi partitioned by (a, b)", "all columns of table t are partition"),
        ("create table t (a int, A int) using hudi", "A stands twice in table t"),
        ("create table t (a int, b string) using hudi partitioned by (b string)", "b stands twice in table t"),
        ("create table t (a uuid) using hudi", "column a has the type uuid.*give one of boolean"),
        ("create table t (a timestamp_ntz) using hudi", "column a has the type timestamp_?ntz"),
        ("create table t (a decimal(39, 2)) using hudi", "precision of 1 to 38"),
        ("create table t (a decimal(3, 4)) using hudi", "precision of 1 to 38"),
        ("create table t (a varchar) using hudi", "column a has the type"),
        ("create table t (a interval day) using hudi", "column a has the type"),
        ("create table t (a foo) using hudi", r"at 'foo', line 1, column 21 .*check the SQL, or the type, there"),
        ("create table t (a int", "line 1"),
        ("create table t (a int default 3) using hudi", "column a has DEFAULT 3, which Hudi tables don't keep"),
        ("create table t (a int, primary key (a)) using hudi", "no column: .*primaryKey"),
        ("create table t (a int) using hudi tblproperties (type = mor)", "the option type has the value mor"),
        ("create table t (a '", "can't be read"),
        ("create table t (`\ud800` int) using hudi", r"the statement has '\(`\\ud800`', which is no Unicode text"),
    ],
)
def test_refusals_are_one_line_that_says_what_to_do(text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what) as caught:
        parse_create_table(text)
    assert "\n" not in str(caught.value)
    assert caught.value.todo


def test_a_statement_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ConfigError):
        parse_create_table(f"create table t (a {'array<' * 5000}int{'>' * 5000}) using hudi")


def test_a_statement_of_megabytes_is_refused() -> None:
    with pytest.raises(ConfigError, match="characters"):
        parse_create_table("create table t (a int) using hudi" + " " * (1 << 20))


WORDS = st.sampled_from(
    [
        *("create", "table", "t", "(", "a", "int", ",", ")", "using", "hudi", "partitioned", "by", "tblproperties"),
        *("'x'", "=", "location", "options", "struct", "<", ">", ":", "3", ";", ".", "`"),
    ]
)


@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=25).map(" ".join)))
def test_any_text_is_a_statement_or_an_error_of_ours(text: str) -> None:
    try:
        parse_create_table(text)
    except HudiError as error:
        assert error.exit_code == 2  # noqa: PT017  (raising nothing is fine too)


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        ("partitioned by (b) partitioned by (c)", "the clause PARTITIONED BY stands there twice: leave one of them"),
        ("location '/x' location '/y'", "the clause LOCATION stands there twice"),
        ("tblproperties ('type'='mor', 'type'='cow')", "the property type stands there twice"),
        ("options (type 'mor', type 'cow')", "the option type stands there twice"),
    ],
)
def test_nothing_is_said_twice(behind: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_create_table(f"create table t (a int, b int, c int) using hudi {behind}")
