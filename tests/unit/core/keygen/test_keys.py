"""Record keys and partition paths of Arrow rows."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import BadRecordError, ConfigError, UnsupportedTableError
from spark_jobs.core.keygen.java_text import java_text
from spark_jobs.core.keygen.keys import partition_paths, record_keys
from spark_jobs.core.keygen.path_names import escape, unescape
from spark_jobs.core.keygen.spec import PACKAGE, Generator, KeySpec, PartitionPart, class_of_type
from spark_jobs.core.keygen.virtual import with_keys, without_keys, without_meta
from spark_jobs.core.schema.meta_fields import META_SCHEMA

pytestmark = pytest.mark.unit

TIMES = {"hoodie.keygen.timebased.timestamp.type": "SCALAR", "hoodie.keygen.timebased.output.dateformat": "yyyy"}


def spec(keys: str, partitions: str = "", generator: Generator | str = "", **more: Any) -> KeySpec:
    options = {"hive_style": False, "url_encode": False, **more}
    name = PACKAGE + generator if generator else ""
    return KeySpec.of(keys.split(","), [one for one in partitions.split(",") if one], class_name=name, **options)


def test_keys_of_one_and_of_several_columns() -> None:
    rows = pa.table({"a": ["x", "", None], "b": [1, 2, 3]})
    assert record_keys(rows, spec("b")).to_pylist() == ["1", "2", "3"]
    assert record_keys(rows, spec("a,b")).to_pylist() == ["a:x,b:1", "a:__empty__,b:2", "a:__null__,b:3"]
    assert record_keys(rows, spec("b", generator=Generator.GLOBAL_DELETE)).to_pylist() == ["b:1", "b:2", "b:3"]
    assert record_keys(rows.to_batches()[0], spec("b")).to_pylist() == ["1", "2", "3"]


@pytest.mark.parametrize("value", ["", None])
def test_a_row_without_key_is_refused(value: str | None) -> None:
    rows = pa.table({"a": pa.array(["x", value]), "b": pa.array(["", None])})
    for keys in ("a", "b", "a,b"):
        with pytest.raises(BadRecordError, match=r"no value in its key \(" + keys.replace(",", ", ")):
            record_keys(rows, spec(keys))


def test_partitions() -> None:
    rows = pa.table({"p": ["a b", "", None, "x/y"], "q": [True, False, None, True]})
    assert partition_paths(rows, spec("p")).to_pylist() == [""] * 4
    default = "__HIVE_DEFAULT_PARTITION__"
    assert partition_paths(rows, spec("p", "p")).to_pylist() == ["a b", default, default, "x/y"]
    both = partition_paths(rows, spec("p", "p,q", hive_style=True, url_encode=True)).to_pylist()
    assert both == ["p=a b/q=true", f"p={default}/q=false", f"p={default}/q={default}", "p=x%2Fy/q=true"]


@pytest.mark.parametrize("value", ["..", "a/../b", ".", "./a"])
def test_a_path_out_of_the_table_is_refused(value: str) -> None:
    rows = pa.table({"p": [value]})
    with pytest.raises(BadRecordError, match="column p leads out of the table"):
        partition_paths(rows, spec("p", "p"))


def test_dots_behind_a_name_are_no_way_out() -> None:
    assert partition_paths(pa.table({"p": [".."]}), spec("p", "p", hive_style=True)).to_pylist() == ["p=.."]


def test_fields_of_structs() -> None:
    rows = pa.table({"s": [{"a": {"b": 1}}, {"a": None}, None], "t.u": ["x", "y", "z"]})
    assert partition_paths(rows, spec("s.a.b", "s.a.b")).to_pylist() == ["1", *["__HIVE_DEFAULT_PARTITION__"] * 2]
    assert record_keys(rows, spec("t.u")).to_pylist() == ["x", "y", "z"]
    for missing in ("s.c", "s.a.b.c", "u"):
        with pytest.raises(ConfigError, match=f"no column {missing}"):
            record_keys(rows, spec(missing))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([True, None]), ["true", None]),
        (
            pa.array([1.0, 1e7, 1e-3, 9.9e-4, -0.0, 123456789.125]),
            ["1.0", "1.0E7", "0.001", "9.9E-4", "-0.0", "1.23456789125E8"],
        ),
        (pa.array([float("nan"), float("-inf")]), ["NaN", "-Infinity"]),
        (pa.array(np.array([0.1, 1e10, 16777216], np.float32)), ["0.1", "1.0E10", "1.6777216E7"]),
        (pa.array([Decimal("1.50"), Decimal("0.0000001")], pa.decimal128(9, 7)), ["1.5000000", "1E-7"]),
        (pa.array([0, -1, 2_932_897], pa.date32()), ["1970-01-01", "1969-12-31", "+10000-01-01"]),
        (pa.array([1, None], pa.timestamp("us", "UTC")), ["1", None]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.array(["a"], pa.large_string()), ["a"]),
        (pa.nulls(1), [None]),
    ],
)
def test_values_as_java_writes_them(column: pa.Array, expected: list[str | None]) -> None:
    assert java_text(column, "c").to_pylist() == expected


@pytest.mark.parametrize("kind", [pa.binary(), pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.time64("us")])
def test_types_that_make_no_key(kind: pa.DataType) -> None:
    with pytest.raises(ConfigError, match=r"column c is .* and can't be a key or partition column"):
        java_text(pa.nulls(1, kind), "c")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_back_from_its_text(value: float) -> None:
    assert float(java_text(pa.array([value]), "c")[0].as_py()) == value


@given(st.text())
def test_escaped_names_are_one_folder_and_come_back(text: str) -> None:
    name = escape(text)
    assert "/" not in name
    assert unescape(name) == text


def test_custom_parts() -> None:
    found = spec("id", "city:SIMPLE,ts:timestamp", Generator.CUSTOM, properties=TIMES)
    assert found.parts == (PartitionPart("city"), PartitionPart("ts", is_time=True))
    assert found.partition_fields == ("city", "ts")
    assert spec("id", "", Generator.CUSTOM).parts == ()
    for bad in ("city", "city:DATE", ":SIMPLE"):
        with pytest.raises(ConfigError, match=f"partition column {bad} of CustomKeyGenerator has no type"):
            spec("id", bad, Generator.CUSTOM)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hoodie.keygen.timebased.timestamp.type": ""}, "needs a timestamp type: give hoodie.keygen"),
        ({"hoodie.keygen.timebased.timestamp.type": "EPOCH"}, "=EPOCH is not valid: give one of UNIX_TIMESTAMP"),
        ({"hoodie.keygen.timebased.output.dateformat": ""}, "needs an output pattern"),
        ({"hoodie.keygen.timebased.output.dateformat": "QQ"}, "has QQ, which can't be translated"),
        ({"hoodie.keygen.timebased.timestamp.scalar.time.unit": "WEEKS"}, "time.unit=WEEKS is not valid: give one of"),
        ({"hoodie.keygen.timebased.timestamp.type": "DATE_STRING"}, "=DATE_STRING needs input patterns"),
        (
            {"hoodie.keygen.datetime.parser.class": "com.us.Ours"},
            "parser.class=com.us.Ours is not supported: leave it out",
        ),
    ],
)
def test_settings_of_times_that_are_wrong(changes: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        spec("id", "ts", Generator.TIMESTAMP, properties={**TIMES, **changes})


@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1, 10**37])
def test_a_number_that_is_no_time(number: int) -> None:
    made = spec("id", "ts", Generator.TIMESTAMP, properties=TIMES)
    rows = pa.table({"id": ["1"], "ts": pa.array([Decimal(number)], pa.decimal128(38, 0))})
    with pytest.raises(BadRecordError, match=f"{number} in column ts is no time"):
        partition_paths(rows, made)


def test_generators_by_type_and_class() -> None:
    assert class_of_type("non_partition") == PACKAGE + Generator.NON_PARTITIONED
    with pytest.raises(ConfigError, match=r"keygenerator\.type=X is not valid: give one of SIMPLE"):
        class_of_type("X")
    with pytest.raises(UnsupportedTableError, match="OurOwn is not supported: use one of Complex"):
        spec("id", "p", "OurOwn")
    with pytest.raises(ConfigError, match="TimestampBasedKeyGenerator takes one partition column, not 2"):
        spec("id", "p,q", Generator.TIMESTAMP, properties=TIMES)


@pytest.mark.parametrize("generator", ["", Generator.TIMESTAMP])
def test_text_that_is_no_utf_8_is_named(generator: str) -> None:
    """A Parquet file may hold it."""
    text: Any = pa.array([b"2020", b"20\xff"]).view(pa.string())
    text_type = {"hoodie.keygen.timebased.timestamp.type": "DATE_STRING"}
    formats = {f"hoodie.keygen.timebased.{name}.dateformat": "yyyy" for name in ("input", "output")}
    given = spec("a", "p", generator, properties={**text_type, **formats})
    with pytest.raises(BadRecordError, match="a text in column p, which makes keys or partition paths, is no UTF-8"):
        partition_paths(pa.table({"p": text}), given)
    with pytest.raises(BadRecordError, match="a text in column a"):
        record_keys(pa.table({"a": text.cast(pa.binary()).dictionary_encode().dictionary.view(pa.string())}), given)


def test_a_spec_pickles() -> None:
    found = spec("id", "ts", Generator.TIMESTAMP, properties=TIMES)
    rows = pa.table({"id": ["x"], "ts": [86_400 * 400]})
    assert partition_paths(rows, pickle.loads(pickle.dumps(found))).to_pylist() == ["1971"]


def test_virtual_keys_are_filled_in_and_left_out() -> None:
    schema = pa.schema([*META_SCHEMA, pa.field("id", pa.int64())])
    stored = pa.table([pa.array(["", None])] * 4 + [pa.array(["f", "f"]), pa.array([1, 2])], schema=schema)
    keyed = with_keys(stored, spec("id"))
    assert keyed.column("_hoodie_record_key").to_pylist() == ["1", "2"]
    assert keyed.column("_hoodie_file_name").to_pylist() == ["f", "f"]
    left = without_keys(keyed, spec("id")).to_pylist()
    assert left[0] == {**dict.fromkeys(META_SCHEMA.names), "_hoodie_file_name": "f", "id": 1}
    assert without_meta(keyed, spec("id")).to_pylist()[1] == {**dict.fromkeys(META_SCHEMA.names), "id": 2}
    assert with_keys(stored, None) is stored
    assert without_keys(stored, None) is stored
