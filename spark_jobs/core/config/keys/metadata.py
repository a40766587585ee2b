"""Keys of the metadata table and its indexes (Hudi: HoodieMetadataConfig)."""

from __future__ import annotations

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, integer, names, real

METADATA_ENABLED = Key(
    name="hoodie.metadata.enable",
    parse=boolean,
    default=True,
    doc="Keep a listing of the table's files in a metadata table; false takes it off.",
)
METADATA_COMPACT_AFTER = Key(
    name="hoodie.metadata.compact.max.delta.commits",
    parse=integer(1),
    default=10,
    doc="Delta commits of the metadata table that make its compaction due.",
)
METADATA_COLUMN_STATS = Key(
    name="hoodie.metadata.index.column.stats.enable",
    parse=boolean,
    default=False,
    doc="Keep statistics of columns in the metadata table, by which queries leave files out; false takes them off.",
)
METADATA_COLUMN_STATS_COLUMNS = Key(
    name="hoodie.metadata.index.column.stats.column.list",
    parse=names,
    default=NO_NAMES,
    doc="Columns to keep statistics of; none: all at the top of the schema.",
)
METADATA_COLUMN_STATS_GROUPS = Key(
    name="hoodie.metadata.index.column.stats.file.group.count",
    parse=integer(1),
    default=2,
    doc="File groups of column statistics, decided when they are made.",
)
METADATA_BLOOM_FILTERS = Key(
    name="hoodie.metadata.index.bloom.filter.enable",
    parse=boolean,
    default=False,
    doc="Keep the bloom filters of base files in the metadata table, for Hudi's bloom index; false takes them off.",
)
METADATA_BLOOM_FILTER_GROUPS = Key(
    name="hoodie.metadata.index.bloom.filter.file.group.count",
    parse=integer(1),
    default=4,
    doc="File groups of bloom filters, decided when they are made.",
)
RECORD_INDEX = Key(
    name="hoodie.metadata.record.index.enable",
    parse=boolean,
    default=False,
    doc="Keep the file group of every record key in the metadata table, for RECORD_INDEX; false takes it off.",
    aliases=("hoodie.metadata.global.record.level.index.enable",),
)
RECORD_INDEX_MIN_GROUPS = Key(
    name="hoodie.metadata.record.index.min.filegroup.count",
    parse=integer(1),
    default=10,
    doc="File groups of a new record index, at least.",
    aliases=("hoodie.metadata.global.record.level.index.min.filegroup.count",),
)
RECORD_INDEX_MAX_GROUPS = Key(
    name="hoodie.metadata.record.index.max.filegroup.count",
    parse=integer(1),
    default=10_000,
    doc="File groups of a new record index, at most.",
    aliases=("hoodie.metadata.global.record.level.index.max.filegroup.count",),
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
