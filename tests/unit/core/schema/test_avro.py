from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of, with_meta_fields, without_meta_fields
from spark_jobs.core.schema.meta_fields import META_FIELDS

pytestmark = pytest.mark.unit


def test_names_are_those_of_spark() -> None:
    inner = pa.struct([("x", pa.decimal128(5, 2)), pa.field("y", pa.int16(), nullable=False)])
    schema = pa.schema(
        [("id", pa.int64()), ("s", inner), ("l", pa.list_(pa.float32())), ("at", pa.timestamp("ns", tz="Europe/Paris"))]
    )
    fixed = {"type": "fixed", "name": "fixed", "namespace": "hoodie.a__b.a__b_record.s.x", "size": 3}
    assert avro_schema_of(schema, "a-b") == {
        "type": "record",
        "name": "a__b_record",
        "namespace": "hoodie.a__b",
        "fields": [
            {"name": "id", "type": ["null", "long"], "default": None},
            {
                "name": "s",
                "type": [
                    "null",
                    {
                        "type": "record",
                        "name": "s",
                        "namespace": "hoodie.a__b.a__b_record",
                        "fields": [
                            {
                                "name": "x",
                                "type": ["null", {**fixed, "logicalType": "decimal", "precision": 5, "scale": 2}],
                                "default": None,
                            },
                            {"name": "y", "type": "int"},
                        ],
                    },
                ],
                "default": None,
            },
            {"name": "l", "type": ["null", {"type": "array", "items": ["null", "float"]}], "default": None},
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}], "default": None},
        ],
    }


@pytest.mark.parametrize(("precision", "size"), [(1, 1), (2, 1), (5, 3), (10, 5), (12, 6), (18, 8), (25, 11), (38, 16)])
def test_decimals_take_the_fewest_bytes(precision: int, size: int) -> None:
    avro = avro_schema_of(pa.schema([("d", pa.decimal128(precision, 1))]), "t")
    assert avro["fields"][0]["type"][1]["size"] == size


def test_meta_fields_come_and_go() -> None:
    avro = avro_schema_of(pa.schema([("a", pa.string())]), "t")
    with_meta = with_meta_fields(avro)
    assert [field["name"] for field in with_meta["fields"]] == [*META_FIELDS, "a"]
    assert with_meta["fields"][0] == {
        "name": "_hoodie_commit_time",
        "type": ["null", "string"],
        "doc": "",
        "default": None,
    }
    assert with_meta_fields(with_meta) == with_meta
    assert without_meta_fields(with_meta) == avro


def test_schemas_written_by_hudi_come_back_equal(hudi_tables: Path) -> None:
    seen = 0
    for commit in [*hudi_tables.glob("*/*/.hoodie/*.commit"), *hudi_tables.glob("*/*/.hoodie/*.deltacommit")]:
        text = json.loads(commit.read_bytes() or b"{}").get("extraMetadata", {}).get("schema")
        if text:
            avro = without_meta_fields(json.loads(text))
            assert avro_schema_of(arrow_schema_of(avro), avro["name"].removesuffix("_record")) == avro
            seen += 1
    assert seen > 3


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("string", pa.field("f", pa.string(), nullable=False)),
        (["int", "null"], pa.field("f", pa.int32())),
        (["null", {"type": "long", "logicalType": "timestamp-micros"}], pa.field("f", pa.timestamp("us", tz="UTC"))),
        (["null", {"type": "string", "logicalType": "uuid"}], pa.field("f", pa.string())),
        (["null", {"type": "bytes", "logicalType": "decimal", "precision": 9}], pa.field("f", pa.decimal128(9, 0))),
        (["null", {"type": "enum", "name": "e", "symbols": ["A"]}], pa.field("f", pa.string())),
        (["null", {"type": "fixed", "name": "e", "size": 3}], pa.field("f", pa.binary(3))),
        ({"type": {"type": "int", "logicalType": "date"}}, pa.field("f", pa.date32(), nullable=False)),
    ],
)
def test_types_of_other_writers(kind: object, expected: pa.Field) -> None:
    avro = {"type": "record", "name": "r", "fields": [{"name": "f", "type": kind}]}
    assert arrow_schema_of(avro).field(0) == expected


def test_what_arrow_lacks_is_named() -> None:
    def of(kind: object) -> None:
        arrow_schema_of({"type": "record", "name": "r", "namespace": "n", "fields": [{"name": "f", "type": kind}]})

    with pytest.raises(UnsupportedTableError, match="union of int, string"):
        of(["int", "string"])
    with pytest.raises(UnsupportedTableError, match=r"n\.r contains itself"):
        of(["null", "r"])
    with pytest.raises(CorruptTableError, match="'other' without defining it"):
        of("other")
    with pytest.raises(ConfigError, match="'a b' is none in Avro"):
        avro_schema_of(pa.schema([("a b", pa.string())]), "t")
    with pytest.raises(ConfigError, match="'d' has type duration"):
        avro_schema_of(pa.schema([("d", pa.duration("s"))]), "t")


@pytest.mark.parametrize(
    "broken",
    [
        {"name": "r"},
        {"type": "record", "name": "r"},
        {"type": "record", "name": "r", "fields": "x"},
        {"type": "record", "name": "r", "fields": [{"name": "f"}]},
        {"type": "record", "name": "r", "fields": [{"type": "int"}]},
        {"type": "record", "name": "r", "fields": [{"name": "f", "type": {"type": "fixed", "name": "x"}}]},
        {"type": "record", "name": "r", "fields": [{"name": "f", "type": {"type": "bytes", "logicalType": "decimal"}}]},
        {"type": "int"},
    ],
)
def test_damaged_schemas_are_named(broken: dict[str, object]) -> None:
    with pytest.raises(CorruptTableError, match="Avro schema"):
        arrow_schema_of(broken)
