"""Tables made by ``HudiTable.create``."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from spark_jobs.core.errors import AlreadyExistsError, ConfigError
from spark_jobs.core.keygen.spec import PACKAGE
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.table import HudiTable
from tests.support.folder import Folder
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit

VIRTUAL = {"hoodie.populate.meta.fields": "false"}
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("at", pa.timestamp("us", tz="UTC")),
        ("place", pa.struct([("city", pa.string())])),
    ]
)


def test_the_schema_is_stored_and_an_empty_table_has_it(root: Folder) -> None:
    table = HudiTable.create(
        str(root), name="t", database="lake", record_key_fields=["id"], schema=SCHEMA, lake=root.by(HandClock()).lake
    ).refreshed()
    assert table.schema.equals(SCHEMA)
    assert json.loads(table.config.properties["hoodie.table.create.schema"]) == avro_schema_of(SCHEMA, "t")
    assert table.config.properties["hoodie.database.name"] == "lake"
    rows = table.scan(columns=["place", "id"]).to_arrow()
    assert (rows.num_rows, rows.column_names) == (0, ["place", "id"])


def test_without_a_schema_the_first_write_decides(root: Folder) -> None:
    table = HudiTable.create(str(root), name="t", record_key_fields=["id"], lake=root.by(HandClock()).lake)
    assert "hoodie.table.create.schema" not in table.config.properties
    with pytest.raises(ConfigError, match="t has no schema yet"):
        _ = table.schema


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"record_key_fields": ["ide"]}, "the record key field ide is no column of the schema: its columns are id"),
        ({"record_key_fields": ["id"], "partition_fields": ["day"]}, "the partition field day"),
        ({"record_key_fields": ["id"], "precombine_field": "ts"}, "the precombine field ts"),
        ({"record_key_fields": ["id"], "precombine_field": "place.city"}, "place.city is a field of a struct"),
        ({"record_key_fields": []}, "needs record key fields"),
        ({"record_key_fields": ["id"], "table_type": "COW"}, "hoodie.table.type=COW is not valid"),
    ],
)
def test_fields_are_checked(fields: dict[str, object], what: str, root: Folder) -> None:
    with pytest.raises(ConfigError, match=what):
        HudiTable.create(str(root / "t"), name="t", schema=SCHEMA, lake=root.lake, **fields)  # type: ignore[arg-type]
    assert not (root / "t").exists()


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"key_generator_class": "com.us.Ours"}, r"^key generator com\.us\.Ours is not supported: use one of Complex"),
        (
            {"key_generator_class": PACKAGE + "SimpleKeyGenerator"},
            "^SimpleKeyGenerator takes one partition column, not 0: use ComplexKeyGenerator or CustomKeyGenerator "
            r"\(or NonpartitionedKeyGenerator, for no partitions\), or name one column$",
        ),
        (
            {
                "key_generator_class": PACKAGE + "TimestampBasedKeyGenerator",
                "partition_fields": ["at"],
                "record_key_fields": ["id", "at"],
            },
            "^TimestampBasedKeyGenerator takes one record key column, not 2: use",
        ),
        (
            {"table_type": "MERGE_ON_READ", "record_key_fields": ["id", "at"], "properties": VIRTUAL},
            r"^a MERGE_ON_READ table with hoodie\.populate\.meta\.fields=false takes one record key column, not 2",
        ),
        (
            {
                "key_generator_class": PACKAGE + "TimestampBasedKeyGenerator",
                "partition_fields": ["at"],
                "properties": VIRTUAL,
            },
            r"^key generator \S*TimestampBasedKeyGenerator can't be used with hoodie\.populate\.meta\.fields=false",
        ),
        ({"properties": {"hoodie.table.timeline.timezone": "MARS"}}, r"^hoodie\.table\.timeline\.timezone=MARS is not"),
        ({"properties": {"hoodie.\ud800": "x"}}, r"the property 'hoodie\.\\ud800=x' is no Unicode text"),
        ({"record_key_fields": ["i\udfffd"], "schema": None}, r"fields=i\\udfffd' is no Unicode text"),
        ({"name": "\udcff"}, r"name=\\udcff' is no Unicode text"),
    ],
)
def test_what_no_write_could_use_is_not_made(fields: dict[str, object], what: str, root: Folder) -> None:
    given = {"name": "t", "schema": SCHEMA, "record_key_fields": ["id"], **fields}
    with pytest.raises(ConfigError, match=what):
        HudiTable.create(str(root / "t"), lake=root.lake, **given)  # type: ignore[arg-type]
    assert not (root / "t").exists()


@pytest.mark.parametrize("name", ["ComplexKeyGenerator", "CustomKeyGenerator", "NonpartitionedAvroKeyGenerator"])
def test_key_generators_that_take_any_number_of_columns(name: str, root: Folder) -> None:
    for number, fields in enumerate(([], ["at"], ["at", "place.city"])):
        made = HudiTable.create(
            str(root / str(number)),
            name="t",
            record_key_fields=["id", "at"],
            partition_fields=fields,
            key_generator_class=PACKAGE + name,
            lake=root.lake,
        )
        assert made.config.partition_fields == tuple(fields)


def test_members_of_structs_and_parts_of_custom_keys_are_columns(root: Folder) -> None:
    table = HudiTable.create(
        str(root),
        name="t",
        record_key_fields=["place.city"],
        partition_fields=["at:TIMESTAMP"],
        schema=SCHEMA,
        lake=root.lake,
    )
    assert table.config.record_key_fields == ("place.city",)


def test_a_table_is_made_once(root: Folder) -> None:
    HudiTable.create(str(root), name="t", record_key_fields=["id"], lake=root.lake)
    with pytest.raises(AlreadyExistsError):
        HudiTable.create(str(root), name="t", record_key_fields=["id"], lake=root.lake)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.field("a", pa.struct([("b", pa.int32()), ("b", pa.string())])), "a has two columns b: give each a name"),
        (pa.field("id", pa.string()), "the schema has two columns id"),
        (pa.field("d", pa.list_(pa.decimal128(5, -2))), r"d\.\w+ has the type decimal128\(5, -2\): give a scale of 0"),
    ],
)
def test_columns_that_no_table_can_have(root: Folder, column: pa.Field, said: str) -> None:
    schema = pa.schema([pa.field("id", pa.int64()), column])
    with pytest.raises(ConfigError, match=said):
        HudiTable.create(
            str(root / "t"), name="t", record_key_fields=["id"], schema=schema, lake=root.by(HandClock()).lake
        )
    assert not (root / "t" / ".hoodie").exists()


def test_a_mistyped_or_missing_argument_is_named(root: Folder) -> None:
    asked = {"name": "t", "record_key_fields": ["id"]}
    with pytest.raises(TypeError, match="partition_field is missing, or no argument"):
        HudiTable.create(str(root / "t"), lake=root.lake, **asked, partition_field=["p"])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="record_key_fields is missing"):
        HudiTable.create(str(root / "t"), lake=root.lake, name="t")  # type: ignore[call-arg]
    assert not (root / "t").exists()
