"""The key generator of a write: asked for, the table's, or at odds with it."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.keygen.spec import COMPLEX, PACKAGE, SIMPLE, Generator, KeySpec, persisted_settings
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.key_settings import refuse_other_key_types, resolve_keys, resolve_meta_fields

pytestmark = pytest.mark.unit

TIMESTAMP, CUSTOM = PACKAGE + Generator.TIMESTAMP, PACKAGE + Generator.CUSTOM
CLASS = "hoodie.datasource.write.keygenerator.class"
TYPE = "hoodie.datasource.write.keygenerator.type"
NEW, OLD = "hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased."
MILLIS = {NEW + "timestamp.type": "EPOCHMILLISECONDS", NEW + "output.dateformat": "yyyy"}


def table(class_name: str, partitions: str = "p", **more: str) -> TableConfig:
    return TableConfig(
        {
            "hoodie.table.name": "t",
            "hoodie.table.recordkey.fields": "id",
            "hoodie.table.partition.fields": partitions,
            "hoodie.table.keygenerator.class": class_name,
            **more,
        }
    )


def resolve(own: TableConfig | None, partitions: str = "", keys: str = "id", **conf: Any) -> KeySpec:
    options = IngestOptions(
        base_path="/t",
        record_key_fields=tuple(keys.split(",")),
        partition_path_fields=tuple(one for one in partitions.split(",") if one),
        hoodie_conf=tuple(conf.items()),
    ).effective()
    return resolve_keys(options, options.hoodie_properties(), own)


def test_a_new_table_gets_what_was_asked_for() -> None:
    assert resolve(None, "p").class_name == SIMPLE
    assert resolve(None, "p", **{TYPE: "complex"}).class_name == COMPLEX
    assert resolve(None, "p", **{TYPE: "complex", CLASS: SIMPLE}).class_name == SIMPLE
    assert resolve(None, "ts", **{TYPE: "TIMESTAMP", **MILLIS}).time_rule is not None


def test_old_names_mean_the_same_as_new_ones() -> None:
    old = {name.replace(NEW, OLD): value for name, value in MILLIS.items()}
    assert resolve(None, "ts", **{CLASS: TIMESTAMP, **old}) == resolve(None, "ts", **{CLASS: TIMESTAMP, **MILLIS})


def test_a_write_takes_what_the_table_has() -> None:
    stored = {NEW + "output.dateformat": "yyyy/MM", NEW + "timezone": "GMT+8:00"}
    spec = resolve(table(TIMESTAMP, **stored), **{NEW + "timestamp.type": "UNIX_TIMESTAMP"})
    assert spec.time_rule is not None
    assert spec.time_rule.output == "yyyy/MM"
    assert spec.partition_fields == ("p",)
    with pytest.raises(ConfigError, match=r"needs a timestamp type: give hoodie\.keygen"):  # Hudi keeps no type either
        resolve(table(TIMESTAMP, **stored))


@pytest.mark.parametrize(
    ("partitions", "conf", "message"),
    [
        ("", {CLASS: COMPLEX}, r"keygenerator\.class .*ComplexKeyGenerator contradicts table t, which has .*Timestamp"),
        ("", {TYPE: "CUSTOM"}, r"keygenerator\.class .*CustomKeyGenerator contradicts"),
        ("q", MILLIS, "--partition-path-fields q contradicts table t, which has p"),
        ("p:TIMESTAMP", MILLIS, "--partition-path-fields p:TIMESTAMP contradicts table t"),
        ("", {**MILLIS, NEW + "timezone": "UTC"}, r"timebased\.timezone UTC contradicts table t, which has GMT"),
        ("", {**MILLIS, OLD + "timezone": "UTC"}, r"timebased\.timezone UTC contradicts table t, which has GMT"),
    ],
)
def test_what_contradicts_the_table(partitions: str, conf: dict[str, str], message: str) -> None:
    stored = {NEW + "output.dateformat": "yyyy", NEW + "timezone": "GMT+8:00"}
    with pytest.raises(ConfigError, match=message):
        resolve(table(TIMESTAMP, **stored), partitions, **conf)


def test_a_custom_table_keeps_no_types() -> None:
    own = table(CUSTOM, "city,ts")
    spec = resolve(own, "city:SIMPLE,ts:TIMESTAMP", **MILLIS)
    assert [part.is_time for part in spec.parts] == [False, True]
    for given in ("", "city,ts"):
        with pytest.raises(ConfigError, match="partition column city of CustomKeyGenerator has no type"):
            resolve(own, given, **MILLIS)
    with pytest.raises(ConfigError, match="--partition-path-fields ts,city contradicts table t, which has city,ts"):
        resolve(own, "ts:TIMESTAMP,city:SIMPLE", **MILLIS)


def test_a_mistyped_zone_makes_no_new_table() -> None:
    with pytest.raises(ConfigError, match=r"timezone=UTC\+8 is no time zone: give a name such as GMT\+8:00"):
        resolve(None, "ts", **{CLASS: TIMESTAMP, **MILLIS, NEW + "timezone": "UTC+8"})
    stored = {NEW + "output.dateformat": "yyyy", NEW + "timezone": "UTC+8"}  # Hudi made it, and took it for GMT
    assert resolve(table(TIMESTAMP, **stored), **MILLIS).time_rule is not None


def test_what_a_new_table_keeps() -> None:
    given = {**MILLIS, OLD + "input.timezone": "UTC", "hoodie.keygen.timebased.timezone": "UTC", CLASS: TIMESTAMP}
    spec = resolve(None, "ts", **given)
    assert persisted_settings(given, spec) == {
        NEW + "output.dateformat": "yyyy",
        NEW + "input.timezone": "UTC",
        NEW + "timezone": "UTC",
    }
    assert persisted_settings(given, resolve(None, "p")) == {}
    custom = resolve(None, "ts:TIMESTAMP", **{**given, CLASS: CUSTOM})
    assert persisted_settings(given, custom) == {}  # as Hudi


POPULATE = "hoodie.populate.meta.fields"


def test_meta_columns_stay_as_the_table_was_made() -> None:
    simple = resolve(None, "p")
    assert resolve_meta_fields({}, None, simple)
    assert not resolve_meta_fields({POPULATE: "false"}, None, simple)
    virtual, populated = table(SIMPLE, **{POPULATE: "false"}), table(SIMPLE)
    assert not resolve_meta_fields({}, virtual, simple)
    assert not resolve_meta_fields({POPULATE: "false"}, virtual, simple)
    with pytest.raises(ConfigError, match=r"=true contradicts table t, which .*can't be turned on again"):
        resolve_meta_fields({POPULATE: "true"}, virtual, simple)
    with pytest.raises(ConfigError, match=r"=false contradicts table t, which .*can't be turned off"):
        resolve_meta_fields({POPULATE: "false"}, populated, simple)


def test_merge_on_read_tables_with_virtual_keys_take_one_column() -> None:
    two, given = resolve(None, "p", "id,b"), {POPULATE: "false"}
    assert not resolve_meta_fields(given, None, two)
    assert not resolve_meta_fields(given, None, resolve(None, "p"), merge_on_read=True)
    with pytest.raises(ConfigError, match=r"MERGE_ON_READ table with .*=false takes one record key column, not 2"):
        resolve_meta_fields(given, None, two, merge_on_read=True)


def test_log_blocks_that_need_meta_columns() -> None:
    given = {POPULATE: "false", "hoodie.logfile.data.block.format": "hfile"}
    with pytest.raises(ConfigError, match=r"format=hfile can't be used with hoodie\.populate\.meta\.fields=false"):
        resolve_meta_fields(given, None, resolve(None, "p"))


def test_virtual_keys_need_the_types_of_the_table() -> None:
    spec = resolve(None, "p", "a,b.c")
    stored = pa.schema([("a", pa.int64()), ("b", pa.struct([("c", pa.decimal128(9, 2))]))])
    refuse_other_key_types(pa.schema([("a", pa.int32()), stored.field("b")]), stored, spec, virtual=True)
    other = pa.schema([("a", pa.int64()), ("b", pa.struct([("c", pa.decimal128(9, 4))]))])
    with pytest.raises(
        ConfigError, match=r"key column b\.c is decimal128\(9, 4\) in the source and decimal128\(9, 2\)"
    ):
        refuse_other_key_types(other, stored, spec, virtual=True)


@pytest.mark.parametrize(
    ("given", "own", "differs"),
    [
        (pa.int32(), pa.int64(), False),
        (pa.int64(), pa.string(), False),
        (pa.bool_(), pa.string(), False),
        (pa.large_string(), pa.string(), False),
        (pa.null(), pa.timestamp("us"), False),
        (pa.int64(), pa.decimal128(10, 0), False),
        (pa.decimal128(5, 2), pa.decimal128(9, 2), False),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), False),
        (pa.timestamp("ms"), pa.timestamp("us"), True),
        (pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC"), True),
        (pa.decimal128(2, 1), pa.decimal128(3, 2), True),
        (pa.int64(), pa.decimal128(10, 2), True),
        (pa.int32(), pa.float64(), True),
        (pa.float32(), pa.float64(), True),
        (pa.decimal128(3, 2), pa.string(), True),
        (pa.timestamp("us"), pa.string(), True),
        (pa.date32(), pa.string(), True),
    ],
)
@pytest.mark.parametrize("is_key", [True, False])
def test_one_value_has_one_key(given: pa.DataType, own: pa.DataType, differs: bool, is_key: bool) -> None:
    spec = resolve(None, "", "a") if is_key else resolve(None, "a", "other")
    source, stored = pa.schema([("a", given)]), pa.schema([("a", own)])
    if not differs:
        refuse_other_key_types(source, stored, spec, virtual=False)
        return
    said = f"{'key' if is_key else 'partition'} column a is {given} in the source and {own} in the table"
    with pytest.raises(ConfigError, match=re.escape(f"{said}: the same value has another text: convert it")):
        refuse_other_key_types(source, stored, spec, virtual=False)


def test_what_is_formatted_as_a_time_may_have_another_unit() -> None:
    spec = resolve(None, "p", "a", **{CLASS: TIMESTAMP, **MILLIS})
    source, stored = pa.schema([("p", pa.timestamp("ms"))]), pa.schema([("p", pa.timestamp("us"))])
    refuse_other_key_types(source, stored, spec, virtual=False)


def test_key_generators_that_need_meta_columns() -> None:
    for class_name, given in ((TIMESTAMP, MILLIS), (PACKAGE + Generator.GLOBAL_DELETE, {})):
        spec = resolve(None, "p", **{CLASS: class_name, **given})
        with pytest.raises(ConfigError, match=r"can't be used with hoodie\.populate\.meta\.fields=false: use one of"):
            resolve_meta_fields({POPULATE: "false"}, None, spec)
