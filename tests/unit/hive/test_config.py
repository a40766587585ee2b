"""Keys of sync as a value."""

from __future__ import annotations

import pytest

from spark_jobs.core.config.keys.hive_sync import TableStrategy
from spark_jobs.core.errors import ConfigError
from spark_jobs.hive.config import SyncConfig

pytestmark = pytest.mark.unit
HIVE = "hoodie.datasource.hive_sync."


def test_defaults_are_of_the_value_and_of_no_properties() -> None:
    assert SyncConfig.of({}) == SyncConfig()
    assert SyncConfig.of({"hoodie.metadata.enable": "true"}) == SyncConfig()


def test_the_table_is_named_as_hudi_infers_it() -> None:
    names = {HIVE + "table": "a", "hoodie.datasource.write.table.name": "b", "hoodie.table.name": "c"}
    for expected in ("a", "b", "c"):
        assert SyncConfig.of(names).table == expected
        names.pop(next(iter(names)))


def test_values_are_parsed() -> None:
    config = SyncConfig.of(
        {
            HIVE + "mode": "HMS",
            HIVE + "metastore.uris": "thrift://a:1,thrift://b:2",
            HIVE + "partition_fields": "a, b",
            HIVE + "table.strategy": "ro",
            HIVE + "table_properties": "a=b=c\n\nd = e",
            HIVE + "batch_num": "7",
            "hoodie.meta.sync.incremental": "false",
        }
    )
    assert config == SyncConfig(
        metastore_uris="thrift://a:1,thrift://b:2",
        partition_fields=("a", "b"),
        strategy=TableStrategy.RO,
        table_properties={"a": "b=c", "d": "e"},
        batch=7,
        incremental=False,
    )


def test_with_the_mode_the_address_of_another_way_says_nothing() -> None:
    given = {HIVE + "mode": "hms", HIVE + "jdbcurl": "jdbc:hive2://h", HIVE + "use_jdbc": "true"}
    assert SyncConfig.of(given) == SyncConfig()
    assert SyncConfig.of({HIVE + "use_jdbc": "false", HIVE + "jdbcurl": ""}) == SyncConfig()


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("mode", "jdbc", "mode=jdbc is not served: give hms"),
        ("mode", "x", "mode=x is not valid: give one of hms"),
        ("batch_num", "0", "batch_num=0 is not valid"),
        ("use_jdbc", "true", "use_jdbc is given and .*mode is not: that is a sync by JDBC, .*: give .*mode=hms"),
        ("jdbcurl", "jdbc:hive2://h", "jdbcurl is given and .*mode is not: that is a sync by JDBC"),
        ("sync_comment", "yes", "sync_comment=yes is not valid: give true or false"),
        ("table_properties", "novalue", "table_properties has the line 'novalue': give one k=v a line"),
    ],
)
def test_bad_values_are_named(key: str, value: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        SyncConfig.of({HIVE + key: value})
