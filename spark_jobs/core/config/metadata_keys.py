"""Keys of the metadata table's record index, and of the indexing job."""

from __future__ import annotations

from spark_jobs.core.config.key import Key, boolean, integer, real

RECORD_INDEX = Key(
    name="hoodie.metadata.record.index.enable",
    parse=boolean,
    default=False,
    doc="Keep the file group of every record key in the metadata table, for RECORD_INDEX; false takes it off.",
)
RECORD_INDEX_MIN_GROUPS = Key(
    name="hoodie.metadata.record.index.min.filegroup.count",
    parse=integer(1),
    default=10,
    doc="File groups of a new record index, at least.",
)
RECORD_INDEX_MAX_GROUPS = Key(
    name="hoodie.metadata.record.index.max.filegroup.count",
    parse=integer(1),
    default=10_000,
    doc="File groups of a new record index, at most.",
)
RECORD_INDEX_GROWTH = Key(
    name="hoodie.metadata.record.index.growth.factor",
    parse=real,
    default=2.0,
    doc="How many times its present records a new record index has room for.",
)
RECORD_INDEX_GROUP_BYTES = Key(
    name="hoodie.metadata.record.index.max.filegroup.size",
    parse=integer(1),
    default=1 << 30,
    doc="Bytes of a file group that a new record index reckons with, 48 for each record.",
)
ASYNC_INDEX = Key(
    name="hoodie.metadata.index.async",
    parse=boolean,
    default=False,
    doc="Leave the making of new indexes to the indexing job; writers keep those that it made.",
)
