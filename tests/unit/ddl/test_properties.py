"""What a statement leaves in ``hoodie.properties``, beside what Hudi 0.15.0 left for the same statement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import Lake
from spark_jobs.ddl import create_table_from_ddl, parse_create_table, table_properties
from spark_jobs.ddl.properties import create_schema, without_effect
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit

LEFT_BY_HUDI: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "ddl_tables.json").read_text(encoding="utf-8")
)
CARRIED_OUT = sorted(name for name, one in LEFT_BY_HUDI.items() if "properties" in one)
REFUSED = sorted(name for name, one in LEFT_BY_HUDI.items() if "error" in one)


@pytest.mark.parametrize("name", CARRIED_OUT)
def test_hudi_left_the_same_properties(name: str, tmp_path: Path) -> None:
    theirs = LEFT_BY_HUDI[name]
    if name == "clustered":
        with pytest.raises(ConfigError, match="CLUSTERED BY"):  # Hudi drops the clause without a word
            parse_create_table(theirs["ddl"])
        return
    table = create_table_from_ddl(
        theirs["ddl"].replace("{location}", str(tmp_path / name)), lake=Lake(clock=HandClock())
    )
    expected = theirs["properties"]
    if name == "Upper_Case":  # Hudi leaves ID and ts, which no column of a record is called
        expected = {**expected, "hoodie.table.recordkey.fields": "Id", "hoodie.table.precombine.field": "TS"}
    assert dict(sorted(table.config.properties.items())) == expected
    folders = sorted(str(one.relative_to(tmp_path / name)) for one in (tmp_path / name).rglob("*") if one.is_dir())
    assert folders == theirs["folders"]


@pytest.mark.parametrize("name", REFUSED)
def test_hudi_refused_the_same(name: str) -> None:
    with pytest.raises(ConfigError):
        table_properties(parse_create_table(LEFT_BY_HUDI[name]["ddl"]))


def test_null_is_the_second_branch_and_nothing_has_a_default() -> None:
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False), pa.field("y", pa.string())])
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("s", inner)])
    assert json.loads(create_schema(schema, "t-1")) == {
        "type": "record",
        "name": "t__1_record",
        "namespace": "hoodie.t__1",
        "fields": [
            {"name": "id", "type": "long"},
            {
                "name": "s",
                "type": [
                    {
                        "type": "record",
                        "name": "s",
                        "namespace": "hoodie.t__1.t__1_record",
                        "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["string", "null"]}],
                    },
                    "null",
                ],
            },
        ],
    }


def test_defaults_hold_where_the_statement_says_nothing() -> None:
    statement = parse_create_table("create table t (id int, ts int) using hudi tblproperties (primaryKey = 'id')")
    defaults = {
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.recordkey.fields": "ts",
        "hoodie.datasource.write.precombine.field": "ts",
    }
    found = table_properties(statement, defaults)
    assert found["hoodie.table.type"] == "MERGE_ON_READ"
    assert found["hoodie.table.recordkey.fields"] == "id"
    assert found["hoodie.table.precombine.field"] == "ts"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ("primaryKey = 'ide'", "primaryKey names ide, which is no column of the table: its columns are id, ts"),
        ("primaryKey = 'id,x'", "primaryKey names x"),
        ("preCombineField = 'tss'", "preCombineField names tss"),
        ("primarykey = 'id'", "the option primarykey is not known: write primaryKey"),
        ("type = 'mow'", "hoodie.table.type=mow is not valid: give one of COPY_ON_WRITE, MERGE_ON_READ"),
        (
            "'hoodie.table.keygenerator.class' = 'org.apache.hudi.keygen.Bogus'",
            "key generator org.apache.hudi.keygen.Bogus is not supported: use one of Complex",
        ),
        (
            "primaryKey = 'id', 'hoodie.table.keygenerator.class' = 'org.apache.hudi.keygen.SimpleKeyGenerator'",
            "SimpleKeyGenerator takes one partition column, not 0: .* NonpartitionedKeyGenerator, for no partitions",
        ),
        (
            "type = 'mor', primaryKey = 'id,ts', 'hoodie.populate.meta.fields' = 'false'",
            "a MERGE_ON_READ table with hoodie.populate.meta.fields=false takes one record key column, not 2",
        ),
        ("'hoodie.keygen.timebased.timezone' = 'Nowhere/At'", "timezone=Nowhere/At is no time zone"),
        ("'hoodie.populate.meta.fields' = 'no'", "hoodie.populate.meta.fields=no is not valid"),
    ],
)
def test_options_are_checked(options: str, what: str) -> None:
    statement = parse_create_table(f"create table t (id int, ts bigint) using hudi tblproperties ({options})")
    with pytest.raises(ConfigError, match=what):
        table_properties(statement)


def test_fields_are_kept_as_their_columns_are_spelled() -> None:
    statement = parse_create_table(
        "create table t (Id int, s struct<x: int>, Ts bigint) using hudi "
        "tblproperties (primaryKey = ' id, S.x ', preCombineField = ' TS ')"
    )
    found = table_properties(statement)
    assert found["hoodie.table.recordkey.fields"] == "Id,s.x"
    assert found["hoodie.table.precombine.field"] == "Ts"
    assert found["hoodie.table.keygenerator.class"] == "org.apache.hudi.keygen.NonpartitionedKeyGenerator"


def test_options_that_the_table_does_not_keep_are_told() -> None:
    (line,) = without_effect({"primaryKey": "id", "hoodie.table.type": "x", "hoodie.insert.shuffle.parallelism": "2"})
    assert line.startswith("the option hoodie.insert.shuffle.parallelism is not kept with the table")


def test_what_the_table_takes_reads_back(tmp_path: Path) -> None:
    ddl = (
        "create table lake.t (id int not null, d decimal(5,2), dt date) using hudi partitioned by (dt) "
        "tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'd')"
    )
    table = create_table_from_ddl(ddl, str(tmp_path / "t"), lake=Lake(clock=HandClock()))
    assert table.refreshed().config.properties == table.config.properties
    assert table.schema.equals(
        pa.schema([pa.field("id", pa.int32(), nullable=False), ("d", pa.decimal128(5, 2)), ("dt", pa.date32())])
    )
    assert table.scan().to_arrow().num_rows == 0
    assert (table.config.record_key_fields, table.config.partition_fields) == (("id",), ("dt",))
