"""Keys of Spark's data source: what is written, by which columns and operation (Hudi: DataSourceWriteOptions)."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, choice, names, text


class DuplicatePolicy(StrEnum):
    """What an insert does with records whose keys the table has."""

    NONE = "none"
    DROP = "drop"
    FAIL = "fail"


class OverwriteMode(StrEnum):
    """What an insert_overwrite replaces: the partitions of its records, or all."""

    DYNAMIC = "DYNAMIC"
    STATIC = "STATIC"


DROP_PARTITION_COLUMNS = Key(
    name="hoodie.datasource.write.drop.partition.columns",
    parse=boolean,
    default=False,
    doc="Partition columns are not stored.",
)
HIVE_STYLE = Key(
    name="hoodie.datasource.write.hive_style_partitioning",
    parse=boolean,
    default=False,
    doc="Partition paths are `column=value`.",
)
URL_ENCODE = Key(
    name="hoodie.datasource.write.partitionpath.urlencode",
    parse=boolean,
    default=False,
    doc="Partition values are escaped as in URLs.",
)
PAYLOAD_CLASS = Key(
    name="hoodie.datasource.write.payload.class",
    parse=text,
    default="",
    doc="Merge semantics, by Hudi's class name.",
    aliases=("hoodie.compaction.payload.class",),
)
KEY_GENERATOR_CLASS = Key(
    name="hoodie.datasource.write.keygenerator.class",
    parse=text,
    default="",
    doc="Key generator, by Hudi's class name.",
)
RECORD_KEY_FIELD = Key(
    name="hoodie.datasource.write.recordkey.field",
    parse=names,
    default=NO_NAMES,
    doc="Columns whose values make the record key.",
)
PARTITION_PATH_FIELD = Key(
    name="hoodie.datasource.write.partitionpath.field", parse=names, default=NO_NAMES, doc="Partition columns."
)
PRECOMBINE_FIELD = Key(
    name="hoodie.datasource.write.precombine.field",
    parse=text,
    default="",
    doc="Column that decides between records of one key.",
)
OPERATION = Key(name="hoodie.datasource.write.operation", parse=text, default="", doc="What a write does.")
WRITE_TABLE_TYPE = Key(
    name="hoodie.datasource.write.table.type",
    parse=text,
    default="",
    doc="COPY_ON_WRITE or MERGE_ON_READ.",
    aliases=("hoodie.datasource.write.storage.type",),
)
DROP_DUPLICATES = Key(
    name="hoodie.datasource.write.insert.drop.duplicates",
    parse=boolean,
    default=False,
    doc="An insert leaves out records whose keys the table has, and so does an upsert, which becomes an insert; of the "
    "batch's own records of one key one stays, unless `hoodie.combine.before.insert` is false.",
)
DUPLICATE_POLICY = Key(
    name="hoodie.datasource.insert.dup.policy",
    parse=choice(DuplicatePolicy),
    default=DuplicatePolicy.NONE,
    doc="What an insert does with records whose keys the table has: write them (none), leave them out (drop), or "
    "refuse the whole write (fail). Hudi 0.15 heeds it in SQL alone.",
)
PARTITIONS_TO_DELETE = Key(
    name="hoodie.datasource.write.partitions.to.delete",
    parse=names,
    default=NO_NAMES,
    doc="Partition paths that a delete_partition takes off; `*` stands for any text. Without it, those of the source's "
    "records.",
)
OVERWRITE_MODE = Key(
    name="hoodie.datasource.overwrite.mode",
    parse=choice(OverwriteMode),
    default=OverwriteMode.DYNAMIC,
    doc="What an insert_overwrite replaces: the partitions of its records (DYNAMIC), or the whole table (STATIC).",
)
MERGER_IMPLS = Key(
    name="hoodie.datasource.write.record.merger.impls",
    parse=names,
    default=NO_NAMES,
    doc="Record mergers, by Hudi's class names: HoodieAvroRecordMerger, which leaves it to the payload, is known.",
)
MERGER_STRATEGY = Key(
    name="hoodie.datasource.write.record.merger.strategy",
    parse=text,
    default="",
    doc="Id of the record merger of a new MERGE_ON_READ table; that of HoodieAvroRecordMerger is known.",
)
CONSISTENT_TIMESTAMPS = Key(
    name="hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled",
    parse=boolean,
    default=False,
    doc="Timestamps in keys and partition paths are written as text, not as the number that they are stored as.",
)
KEY_GENERATOR_TYPE = Key(
    name="hoodie.datasource.write.keygenerator.type",
    parse=text,
    default="",
    doc="Key generator by a short name, where no class is named: SIMPLE, COMPLEX, TIMESTAMP, CUSTOM and so on.",
)
RECONCILE_SCHEMA = Key(
    name="hoodie.datasource.write.reconcile.schema",
    parse=boolean,
    default=False,
    doc="Keep the table's columns that the source lacks, and add or widen those that it has beyond.",
)
ALLOW_COLUMN_DROP = Key(
    name="hoodie.datasource.write.schema.allow.auto.evolution.column.drop",
    parse=boolean,
    default=False,
    doc="Columns that the source lacks leave the table.",
)
