"""The schema of a write, from what Spark and the table say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of
from spark_jobs.core.schema.reconcile import SchemaRules, WriterSchema
from spark_jobs.write.schema import source_schema
from spark_jobs.write.writer_schema import schema_with_ids, writer_schema

pytestmark = pytest.mark.unit

STORED = pa.schema([("id", pa.int64()), ("price", pa.float32()), ("at", pa.struct([("x", pa.int32())]))])
TABLE = avro_schema_of(STORED, "t")


def test_a_new_table_is_named_as_hudi_names_it() -> None:
    avro = writer_schema(None, STORED, "t-1", SchemaRules()).avro
    assert (avro["name"], avro["namespace"]) == ("t__1_record", "hoodie.t__1")
    assert [field["name"] for field in avro["fields"]] == ["id", "price", "at"]


def test_the_table_s_rules_are_those_of_the_deduction() -> None:
    wider = pa.schema([("new", pa.string()), ("id", pa.int32()), ("price", pa.float64()), STORED.field("at")])
    found = arrow_schema_of(writer_schema(TABLE, wider, "t", SchemaRules()).avro)
    assert found == wider.set(1, pa.field("id", pa.int64()))
    fewer = pa.schema([STORED.field("id"), STORED.field("at")])
    with pytest.raises(ConfigError, match="the source has no column price, which the table has"):
        writer_schema(TABLE, fewer, "t", SchemaRules())
    assert writer_schema(TABLE, fewer, "t", SchemaRules(keep_missing=True)).avro == TABLE


def test_names_that_avro_does_not_have_are_refused() -> None:
    with pytest.raises(ConfigError, match="the column name 'a-b' is none in Avro: rename it"):
        writer_schema(None, pa.schema([("a-b", pa.int32())]), "t", SchemaRules())


def test_a_history_begins_where_it_is_asked_for_and_goes_on_where_there_is_one() -> None:
    plain, time = WriterSchema(avro=TABLE), "20240102030405006"
    asked = {"hoodie.schema.on.read.enable": "true", "hoodie.datasource.write.reconcile.schema": "true"}
    assert schema_with_ids(plain, {"hoodie.schema.on.read.enable": "true"}, time) is None
    begun = schema_with_ids(plain, asked, time)
    assert begun is not None
    assert (begun.version, begun.record.columns[0].name) == (int(time), "_hoodie_commit_time")
    assert schema_with_ids(WriterSchema(avro=TABLE, internal=begun), {}, "20250101000000000") == begun
    changed = WriterSchema(avro=TABLE, internal=begun.at(0))
    assert schema_with_ids(changed, {}, "20250101000000000") == begun.at(20250101000000000)


@pytest.mark.parametrize("name", ["_pyhudi_bucket", "_PYHUDI_record"])
def test_a_source_column_of_a_name_that_writing_needs(name: str) -> None:
    """Of a DataFrame only the names of its columns are asked for first; Spark finds them in any case."""
    source: Any = SimpleNamespace(columns=["id", name])
    with pytest.raises(ConfigError, match=rf"^the source has a column {name}, .*: rename it in the source$"):
        source_schema(source)
