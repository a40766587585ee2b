"""Key generators in writes: Spark and Arrow compute the same keys and paths, and tables keep their generator."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.keygen.keys import partition_paths, record_keys
from spark_jobs.core.keygen.spec import PACKAGE, Generator, KeySpec
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.engine.failure import failure_of
from spark_jobs.write.keys import partition_path, record_key
from tests.spark.tables import COW, MOR, Jobs, row, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

CLASS = "hoodie.datasource.write.keygenerator.class"
NEW = "hoodie.keygen.timebased."
MILLIS = {
    NEW + "timestamp.type": "EPOCHMILLISECONDS",
    NEW + "output.dateformat": "yyyy/MM/dd",
    NEW + "timezone": "GMT+8:00",
}
VIRTUAL = {"hoodie.populate.meta.fields": "false"}
CONSISTENT = {"hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled": "true"}

VALUES = pa.table(
    {
        "text": ["a/b:c%d", "", None, "ü}|"],
        "flag": [True, False, None, True],
        "whole": pa.array([1, -1, None, 2**31 - 1], pa.int32()),
        "double": [1.0, 1e7, None, 1.25e-5],
        "single": pa.array([0.1, 1e10, None, -0.0], pa.float32()),
        "money": pa.array([Decimal("1.50"), Decimal("0.0000001"), None, Decimal(0)], pa.decimal128(12, 7)),
        "day": [date(2020, 1, 6), date(1, 1, 1), None, date(9999, 12, 31)],
        "at": pa.array([datetime(2020, 1, 6, 4, 12, 12, 5000, UTC), None, None, datetime(1969, 1, 1, tzinfo=UTC)]),
        "clock": pa.array([datetime(2020, 1, 6), None, None, datetime(1969, 1, 1)], pa.timestamp("us")),
        "inner": [{"a": "x"}, {"a": ""}, None, {"a": None}],
        "id": [1, 2, 3, 4],
    }
)
COLUMNS = ("text", "flag", "whole", "double", "single", "money", "day", "at", "clock", "inner.a")
SPECS = [
    *(KeySpec.of(["id", name], [name], hive_style=True, url_encode=True) for name in COLUMNS),
    *(
        KeySpec.of(["id", name], [name], hive_style=False, url_encode=False, properties=CONSISTENT)
        for name in ("at", "clock", "text")
    ),
    KeySpec.of(
        ["id"],
        ["text:SIMPLE", "whole:TIMESTAMP"],
        hive_style=True,
        url_encode=True,
        class_name=PACKAGE + Generator.CUSTOM,
        properties=MILLIS,
    ),
    KeySpec.of(["id"], [], hive_style=False, url_encode=False, class_name=PACKAGE + Generator.GLOBAL_DELETE),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: ",".join([*spec.record_key_fields, *spec.partition_fields]))
def test_spark_and_arrow_agree(spark: SparkSession, tmp_path: Path, spec: KeySpec) -> None:
    source = spark.read.parquet(Jobs(spark=spark, path=tmp_path / "t").source(VALUES))
    found = source.select("id", record_key(source, spec), partition_path(source, spec)).orderBy("id").collect()
    assert [one[1] for one in found] == record_keys(VALUES, spec).to_pylist()
    assert [one[2] for one in found] == partition_paths(VALUES, spec).to_pylist()


@pytest.mark.parametrize(
    "value", ["a/../b", "/a", ".hoodie", "__all_partitions__", "a\nb", "a\rb", "a\0", "ü" * 128, "x/" + "a" * 256]
)
def test_spark_and_arrow_refuse_the_same_values(spark: SparkSession, value: str) -> None:
    spec = KeySpec.of(["id"], ["p"], hive_style=False, url_encode=False)
    with pytest.raises(BadRecordError) as expected:
        partition_paths(pa.table({"id": [1], "p": [value]}), spec)
    source = spark.createDataFrame([(1, value)], "id int, p string")
    with pytest.raises(Exception, match="BadRecordError") as found:
        source.select(partition_path(source, spec)).collect()
    assert failure_of(found.value).message == str(expected.value)


def jobs(spark: SparkSession, tmp_path: Path, **more: Any) -> Jobs:
    return Jobs(spark=spark, path=tmp_path / "t", **more)


def test_a_time_based_table(spark: SparkSession, tmp_path: Path) -> None:
    conf = {CLASS: PACKAGE + Generator.TIMESTAMP, **MILLIS}
    one = jobs(spark, tmp_path, partitions=("ts",), conf=conf)
    day = 86_400_000
    first = [row(1, ts=0), row(2, ts=18_000 * day), row(3, ts=18_000 * day + day - 1)]
    one.write("bulk_insert", first)
    assert one.table().partitions() == ["1970/01/01", "2019/04/14", "2019/04/15"]
    change = row(2, value="y", ts=18_000 * day + 5)
    one.write("upsert", [change])
    assert one.rows() == shown([first[0], change, first[2]])
    stored = one.table().config.properties
    assert stored["hoodie.table.keygenerator.class"] == PACKAGE + Generator.TIMESTAMP
    assert stored["hoodie.table.partition.fields"] == "ts"
    assert {name for name in stored if "timebased" in name} == {NEW + "output.dateformat", NEW + "timezone"}
    with pytest.raises(ConfigError, match=r"timebased\.timezone UTC contradicts table t, which has GMT\+8:00"):
        one.write("upsert", [change], hoodie_conf=tuple({**conf, NEW + "timezone": "UTC"}.items()))
    text = pa.table({"id": [9], "p": ["a"], "v": ["x"], "ts": ["soon"], "_hoodie_is_deleted": [False]})
    other = jobs(spark, tmp_path / "other", partitions=("ts",))
    other.conf = {**conf, NEW + "timestamp.type": "DATE_STRING", NEW + "input.dateformat": "yyyy"}
    (tmp_path / "other").mkdir()
    with pytest.raises(Exception, match="soon") as error:
        other.write("bulk_insert", text)
    failure = failure_of(error.value)
    assert "'soon' in column ts is no date of the pattern yyyy" in failure.message
    assert failure.exit_code == 1


def test_a_custom_table(spark: SparkSession, tmp_path: Path) -> None:
    conf = {CLASS: PACKAGE + Generator.CUSTOM, **MILLIS}
    one = jobs(spark, tmp_path, partitions=("p:SIMPLE", "ts:TIMESTAMP"), conf=conf)
    one.write("upsert", [row(1), row(2, None)])
    assert one.table().partitions() == ["__HIVE_DEFAULT_PARTITION__/1970/01/01", "a/1970/01/01"]
    assert one.table().config.partition_fields == ("p", "ts")
    one.write("upsert", [row(1, value="y", ts=2)])
    assert one.rows() == shown([row(1, value="y", ts=2), row(2, None)])
    with pytest.raises(ConfigError, match="partition column p of CustomKeyGenerator has no type"):
        one.write("upsert", [row(1)], partition_path_fields=())


@pytest.mark.parametrize(("keys", "table_type"), [(("id",), COW), (("id", "v"), COW), (("id",), MOR)])
def test_virtual_keys(spark: SparkSession, tmp_path: Path, table_type: str, keys: tuple[str, ...]) -> None:
    one = jobs(spark, tmp_path, table_type=table_type, keys=keys, conf=VIRTUAL)
    first = rows(range(8))
    one.write("bulk_insert", first)
    changes = [{**first[2], "ts": 5}, row(20, "b"), {**first[3], "ts": 6}]
    one.conf = {}  # the table says it
    one.write("upsert", changes)
    expected = [first[0], first[1], *first[4:], *changes]
    assert one.rows() == shown(expected)
    one.write("delete", [first[0], row(99)])
    expected = expected[1:]
    assert one.rows() == shown(expected)
    found = one.table().scan().to_arrow()
    assert all(found.column(name).null_count == found.num_rows for name in META_FIELDS[:-1])
    one.write("insert", [row(30, "a")])
    if table_type == MOR:
        one.compact()
    else:
        one.cluster()
    one.clean()
    assert one.rows() == shown([*expected, row(30, "a")])
    one.write("upsert", [row(30, "a", "x", 9)])
    assert one.rows() == shown([*expected, row(30, "a", "x", 9)])
    with pytest.raises(ConfigError, match="can't be turned on again"):
        one.write("upsert", changes, hoodie_conf=(("hoodie.populate.meta.fields", "true"),))


def test_virtual_keys_are_not_turned_on_later(spark: SparkSession, tmp_path: Path) -> None:
    one = jobs(spark, tmp_path)
    one.write("upsert", rows(range(2)))
    with pytest.raises(ConfigError, match="can't be turned off"):
        one.write("upsert", rows(range(2)), hoodie_conf=tuple(VIRTUAL.items()))
