"""Keys of single operations of a write: inserts, bulk inserts, overwrites, partitions to delete."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, choice, names


class SortMode(StrEnum):
    """How a bulk insert lays records out (``BulkInsertSortMode``)."""

    NONE = "NONE"
    GLOBAL_SORT = "GLOBAL_SORT"
    PARTITION_SORT = "PARTITION_SORT"
    PARTITION_PATH_REPARTITION = "PARTITION_PATH_REPARTITION"
    PARTITION_PATH_REPARTITION_AND_SORT = "PARTITION_PATH_REPARTITION_AND_SORT"


class DuplicatePolicy(StrEnum):
    """What an insert does with records whose keys the table has."""

    NONE = "none"
    DROP = "drop"
    FAIL = "fail"


class OverwriteMode(StrEnum):
    """What an insert_overwrite replaces: the partitions of its records, or all."""

    DYNAMIC = "DYNAMIC"
    STATIC = "STATIC"


ALLOW_DUPLICATES_ON_INSERT = Key(
    name="hoodie.merge.allow.duplicate.on.inserts",
    parse=boolean,
    default=True,
    doc="An insert puts its records beside those of a file that it fills up; with false, equal keys of that file are "
    "updated.",
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
SORT_MODE = Key(
    name="hoodie.bulkinsert.sort.mode",
    parse=choice(SortMode),
    default=SortMode.NONE,
    doc="How a bulk insert lays records out before it writes them: NONE, GLOBAL_SORT, PARTITION_SORT, "
    "PARTITION_PATH_REPARTITION, PARTITION_PATH_REPARTITION_AND_SORT.",
)
SORT_COLUMNS = Key(
    name="hoodie.bulkinsert.user.defined.partitioner.sort.columns",
    parse=names,
    default=NO_NAMES,
    doc="Columns that a bulk insert sorts by, over all records, after the partition path; in place of the sort mode.",
)
PARTITIONS_TO_DELETE = Key(
    name="hoodie.datasource.write.partitions.to.delete",
    parse=names,
    default=NO_NAMES,
    doc="Partition paths that a delete_partition takes off; `*` stands for any text. Without it, those of the source's "
    "records.",
)
STATIC_OVERWRITE_PARTITIONS = Key(
    name="hoodie.static.overwrite.partition.paths",
    parse=names,
    default=NO_NAMES,
    doc="Partition paths that an insert_overwrite replaces, whichever its records are of.",
)
OVERWRITE_MODE = Key(
    name="hoodie.datasource.overwrite.mode",
    parse=choice(OverwriteMode),
    default=OverwriteMode.DYNAMIC,
    doc="What an insert_overwrite replaces: the partitions of its records (DYNAMIC), or the whole table (STATIC).",
)
