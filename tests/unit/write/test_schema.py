"""The schema of a write: what the source adds, lacks, or would lose."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.files.avro_schema import avro_schema_of
from spark_jobs.write.schema import writer_schema

pytestmark = pytest.mark.unit

STORED = pa.schema([("id", pa.int64()), ("price", pa.float32()), ("at", pa.struct([("x", pa.int32())]))])
TABLE = avro_schema_of(STORED, "t")


def test_a_new_table_takes_the_source_as_it_is() -> None:
    avro, arrow = writer_schema(None, STORED, "t")
    assert arrow == STORED
    assert [field["name"] for field in avro["fields"]] == ["id", "price", "at"]


def test_new_columns_follow_those_of_the_table() -> None:
    source = pa.schema([("new", pa.string()), *reversed(STORED)])
    avro, arrow = writer_schema(TABLE, source, "t")
    assert arrow.names == ["id", "price", "at", "new"]
    assert avro["fields"][:3] == TABLE["fields"]


@pytest.mark.parametrize(
    ("column", "given", "message"),
    [
        ("price", pa.float64(), "column price is double in the source and float in table t"),
        (
            "at",
            pa.struct([("x", pa.int32()), ("y", pa.int32())]),
            "column at is struct<x: int32, y: int32> in the source",
        ),
        ("at", pa.struct([("x", pa.int64())]), "column at is struct<x: int64>"),
        ("at", pa.string(), "column at is string"),
    ],
)
def test_what_would_be_lost_in_silence_is_refused(column: str, given: pa.DataType, message: str) -> None:
    source = pa.schema([pa.field(field.name, given) if field.name == column else field for field in STORED])
    with pytest.raises(ConfigError, match=message):
        writer_schema(TABLE, source, "t")


def test_a_missing_column_is_refused() -> None:
    with pytest.raises(ConfigError, match="the source has no column price, which the table has"):
        writer_schema(TABLE, pa.schema([STORED.field("id"), STORED.field("at")]), "t")
