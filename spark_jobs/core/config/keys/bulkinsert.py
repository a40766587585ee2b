"""Keys of bulk inserts."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import NO_NAMES, Key, choice, integer, names


class SortMode(StrEnum):
    """How a bulk insert lays records out (``BulkInsertSortMode``)."""

    NONE = "NONE"
    GLOBAL_SORT = "GLOBAL_SORT"
    PARTITION_SORT = "PARTITION_SORT"
    PARTITION_PATH_REPARTITION = "PARTITION_PATH_REPARTITION"
    PARTITION_PATH_REPARTITION_AND_SORT = "PARTITION_PATH_REPARTITION_AND_SORT"


BULK_INSERT_PARALLELISM = Key(
    name="hoodie.bulkinsert.shuffle.parallelism",
    parse=integer(),
    default=0,
    doc="Tasks of a bulk insert; 0: by the input.",
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
