"""Index types and what is refused by name."""

from __future__ import annotations

import pytest

from spark_jobs.core.config.keys import index as keys
from spark_jobs.core.config.keys.index import IndexType
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.index.bucket_settings import BucketSettings

pytestmark = pytest.mark.unit


def test_simple_is_the_default_as_of_hudis_spark_writer() -> None:
    assert keys.INDEX_TYPE.of({}) is IndexType.SIMPLE
    assert keys.INDEX_TYPE.of({"hoodie.index.type": "global_bloom"}) is IndexType.GLOBAL_BLOOM


@pytest.mark.parametrize(
    ("key", "value", "instead"),
    [
        ("hoodie.index.type", "HBASE", "use RECORD_INDEX"),
        ("hoodie.index.type", "INMEMORY", "use SIMPLE"),
        ("hoodie.index.type", "FLINK_STATE", "use BUCKET"),
        ("hoodie.index.type", "TREE", "give one of SIMPLE, GLOBAL_SIMPLE, BLOOM"),
        ("hoodie.index.class", "com.example.Mine", "use hoodie.index.type"),
        ("hoodie.index.bucket.engine", "CONSISTENT_HASHING", "use SIMPLE"),
    ],
)
def test_what_is_not_there_is_refused_with_what_to_use_instead(key: str, value: str, instead: str) -> None:
    declared = {one.name: one for one in (keys.INDEX_TYPE, keys.INDEX_CLASS, keys.BUCKET_ENGINE)}
    with pytest.raises(ConfigError, match=f"{key}={value} is not valid: .*{instead}"):
        declared[key].of({key: value})


def test_whether_records_move_with_their_partition() -> None:
    assert keys.updates_partition(IndexType.GLOBAL_BLOOM, {})
    assert keys.updates_partition(IndexType.GLOBAL_SIMPLE, {})
    assert not keys.updates_partition(IndexType.RECORD_INDEX, {})
    assert keys.updates_partition(IndexType.RECORD_INDEX, {"hoodie.record.index.update.partition.path": "true"})
    assert not keys.updates_partition(IndexType.SIMPLE, {})


def test_the_fields_of_buckets() -> None:
    assert BucketSettings.of({}, ["a", "b"]) == BucketSettings(buckets=256, fields=("a", "b"))
    given = {"hoodie.bucket.index.hash.field": "b", "hoodie.bucket.index.num.buckets": "8"}
    assert BucketSettings.of(given, ["a", "b"]) == BucketSettings(buckets=8, fields=("b",))
    with pytest.raises(ConfigError, match="names c, which is no record key field: choose among a, b"):
        BucketSettings.of({"hoodie.bucket.index.hash.field": "c"}, ["a", "b"])
