"""How a write finds the records that a table has, with Hudi's keys (Hudi: HoodieIndexConfig, HoodieIndex.IndexType)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, choice, integer, names, text
from spark_jobs.core.config.keys import bloom as bloom_keys


class IndexType(StrEnum):
    SIMPLE = "SIMPLE"
    GLOBAL_SIMPLE = "GLOBAL_SIMPLE"
    BLOOM = "BLOOM"
    GLOBAL_BLOOM = "GLOBAL_BLOOM"
    BUCKET = "BUCKET"
    RECORD_INDEX = "RECORD_INDEX"

    @property
    def is_global(self) -> bool:
        """Whether a key is one record in the whole table, not one in each partition."""
        return self in (IndexType.GLOBAL_SIMPLE, IndexType.GLOBAL_BLOOM, IndexType.RECORD_INDEX)

    @property
    def by_bloom(self) -> bool:
        """Whether filters of base files say which of them are looked into."""
        return self in (IndexType.BLOOM, IndexType.GLOBAL_BLOOM)

    @property
    def places_by_key(self) -> bool:
        """Whether the file group of a record follows from its key: none is looked up, and new ones may go to logs."""
        return self is IndexType.BUCKET


REFUSED = {
    "HBASE": "use RECORD_INDEX, which keeps the same knowledge in the table itself",
    "INMEMORY": "it forgets the table's records when the job ends; use SIMPLE, or BUCKET for a table that Flink or a "
    "Java client writes",
    "FLINK_STATE": "its records stand in the state of a Flink job; use BUCKET in both jobs, or SIMPLE here",
}
"""Index types that Hudi has besides, and what to use instead."""


def _index_type(value: str) -> IndexType:
    name = value.strip().upper()
    if name in REFUSED:
        raise ValueError(REFUSED[name])
    return choice(IndexType)(value)


def _engine(value: str) -> str:
    name = value.strip().upper()
    if name == "CONSISTENT_HASHING":
        raise ValueError("buckets that split and merge are not written by this release; use SIMPLE, or write with Hudi")
    if name != "SIMPLE":
        raise ValueError("give SIMPLE")
    return name


def _no_class(value: str) -> str:
    raise ValueError("an index of one's own is a Java class, which can't run here; use hoodie.index.type")


INDEX_TYPE = Key(
    name="hoodie.index.type",
    parse=_index_type,
    default=IndexType.SIMPLE,
    doc="How stored records are found: SIMPLE, GLOBAL_SIMPLE, BLOOM, GLOBAL_BLOOM, BUCKET, RECORD_INDEX.",
)
INDEX_CLASS = Key(
    name="hoodie.index.class",
    parse=_no_class,
    default="",
    doc="An index of one's own; refused, since it is a Java class.",
)
SIMPLE_UPDATES_PARTITION = Key(
    name="hoodie.simple.index.update.partition.path",
    parse=boolean,
    default=True,
    doc="Of GLOBAL_SIMPLE: a record moves to the partition that it comes with; false: it stays.",
)
RECORD_UPDATES_PARTITION = Key(
    name="hoodie.record.index.update.partition.path",
    parse=boolean,
    default=False,
    doc="Of RECORD_INDEX: a record moves to the partition that it comes with; false: it stays.",
)
BUCKET_ENGINE = Key(
    name="hoodie.index.bucket.engine",
    parse=_engine,
    default="SIMPLE",
    doc="SIMPLE: the number of buckets stays.",
)
BUCKETS = Key(
    name="hoodie.bucket.index.num.buckets",
    parse=integer(1, 99_999_999),  # of which a file id has eight digits
    default=256,
    doc="Buckets, which are file groups, of each partition; all writers of a table have to give the same.",
)
BUCKET_FIELDS = Key(
    name="hoodie.bucket.index.hash.field",
    parse=names,
    default=NO_NAMES,
    doc="Record key fields whose values choose the bucket; none: all of them.",
)
_PASSED_OVER = bloom_keys.PASSED_OVER
SIMPLE_CACHING = Key(name="hoodie.simple.index.use.caching", parse=boolean, default=True, doc=_PASSED_OVER)
SIMPLE_PARALLELISM = Key(name="hoodie.simple.index.parallelism", parse=integer(), default=0, doc=_PASSED_OVER)
SIMPLE_STORAGE_LEVEL = Key(
    name="hoodie.simple.index.input.storage.level",
    parse=text,
    default="MEMORY_AND_DISK_SER",
    doc=_PASSED_OVER,
)
GLOBAL_SIMPLE_PARALLELISM = Key(
    name="hoodie.global.simple.index.parallelism", parse=integer(), default=100, doc=_PASSED_OVER
)
GLOBAL_RECONCILE_PARALLELISM = Key(
    name="hoodie.global.index.reconcile.parallelism", parse=integer(), default=60, doc=_PASSED_OVER
)
RECORD_CACHING = Key(name="hoodie.record.index.use.caching", parse=boolean, default=True, doc=_PASSED_OVER)
RECORD_STORAGE_LEVEL = Key(
    name="hoodie.record.index.input.storage.level",
    parse=text,
    default="MEMORY_AND_DISK_SER",
    doc=_PASSED_OVER,
)


def updates_partition(kind: IndexType, values: Mapping[str, str]) -> bool:
    """Whether a global index of this kind moves records to the partition that they come with."""
    by_kind = {
        IndexType.GLOBAL_SIMPLE: SIMPLE_UPDATES_PARTITION,
        IndexType.GLOBAL_BLOOM: bloom_keys.BLOOM_UPDATES_PARTITION,
        IndexType.RECORD_INDEX: RECORD_UPDATES_PARTITION,
    }
    key = by_kind.get(kind)
    return key is not None and key.of(values)
