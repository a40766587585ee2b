"""The keys of compaction and clustering beside those in ``write_keys``, with Hudi's names and meanings."""

from __future__ import annotations

import re
from enum import StrEnum

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, choice, integer, names, text
from spark_jobs.core.config.strategy_keys import class_of


class CompactionTrigger(StrEnum):
    """What makes a compaction due (Hudi: CompactionTriggerStrategy)."""

    NUM_COMMITS = "NUM_COMMITS"
    NUM_COMMITS_AFTER_LAST_REQUEST = "NUM_COMMITS_AFTER_LAST_REQUEST"
    TIME_ELAPSED = "TIME_ELAPSED"
    NUM_AND_TIME = "NUM_AND_TIME"
    NUM_OR_TIME = "NUM_OR_TIME"


class CompactionStrategy(StrEnum):
    """Which slices a compaction takes, by the class names of Hudi's package
    ``org.apache.hudi.table.action.compact.strategy``.
    """

    LOG_FILE_SIZE = "LogFileSizeBasedCompactionStrategy"
    LOG_FILE_NUMBER = "LogFileNumBasedCompactionStrategy"
    BOUNDED_IO = "BoundedIOCompactionStrategy"
    UNBOUNDED = "UnBoundedCompactionStrategy"
    DAY_BASED = "DayBasedCompactionStrategy"
    BOUNDED_PARTITIONS = "BoundedPartitionAwareCompactionStrategy"
    UNBOUNDED_PARTITIONS = "UnBoundedPartitionAwareCompactionStrategy"
    PARTITION_REGEX = "PartitionRegexBasedCompactionStrategy"


class PartitionFilterMode(StrEnum):
    """Which partitions a clustering looks at (Hudi: ClusteringPlanPartitionFilterMode)."""

    NONE = "NONE"
    RECENT_DAYS = "RECENT_DAYS"
    SELECTED_PARTITIONS = "SELECTED_PARTITIONS"
    DAY_ROLLING = "DAY_ROLLING"


class LayoutStrategy(StrEnum):
    """The order of rows by several columns (Hudi: HoodieClusteringConfig.LayoutOptimizationStrategy)."""

    LINEAR = "LINEAR"
    ZORDER = "ZORDER"
    HILBERT = "HILBERT"


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"give a regular expression ({error})") from None
    return value


TABLE_SERVICES = Key(
    name="hoodie.table.services.enabled",
    parse=boolean,
    default=True,
    doc="False: a write runs and plans no service afterwards, whatever the other keys say.",
)
COMPACT_INLINE = Key(
    name="hoodie.compact.inline",
    parse=boolean,
    default=False,
    doc="A write to a MERGE_ON_READ table compacts it afterwards, when that is due.",
)
COMPACT_SCHEDULE_INLINE = Key(
    name="hoodie.compact.schedule.inline",
    parse=boolean,
    default=False,
    doc="A write plans the compaction that is due, and leaves it to compact.py.",
)
COMPACT_TRIGGER = Key(
    name="hoodie.compact.inline.trigger.strategy",
    parse=choice(CompactionTrigger),
    default=CompactionTrigger.NUM_COMMITS,
    doc="What makes compaction due: commits, time, or both.",
)
COMPACT_MAX_DELTA_SECONDS = Key(
    name="hoodie.compact.inline.max.delta.seconds",
    parse=integer(),
    default=3600,
    doc="Seconds since the last compaction, or the first delta commit, that make compaction due.",
)
COMPACT_STRATEGY = Key(
    name="hoodie.compaction.strategy",
    parse=class_of(CompactionStrategy),
    default=CompactionStrategy.LOG_FILE_SIZE,
    doc="Which slices a compaction takes, by the name of Hudi's class, with or without its package.",
)
COMPACT_LOG_NUMBER_THRESHOLD = Key(
    name="hoodie.compaction.logfile.num.threshold",
    parse=integer(),
    default=0,
    doc="Log files that make a slice worth compacting (LogFileNumBasedCompactionStrategy).",
)
COMPACT_TARGET_PARTITIONS = Key(
    name="hoodie.compaction.daybased.target.partitions",
    parse=integer(1),
    default=10,
    doc="Newest day partitions that the day-based strategies take.",
)
COMPACT_PARTITION_REGEX = Key(
    name="hoodie.compaction.partition.path.regex",
    parse=_pattern,
    default="",
    doc="Partitions that PartitionRegexBasedCompactionStrategy compacts: those in which it is found.",
)
LOG_COMPACT_BLOCKS = Key(
    name="hoodie.log.compaction.blocks.threshold",
    parse=integer(1),
    default=5,
    doc="Log blocks that make a slice worth a log compaction.",
)
LOG_COMPACT_INLINE = Key(
    name="hoodie.log.compaction.inline",
    parse=boolean,
    default=False,
    doc="A write runs the log compaction that is due afterwards.",
)
CLUSTER_INLINE = Key(
    name="hoodie.clustering.inline",
    parse=boolean,
    default=False,
    doc="A write clusters the table afterwards, when that is due.",
    aliases=("hoodie.datasource.clustering.inline.enable",),
)
CLUSTER_SCHEDULE_INLINE = Key(
    name="hoodie.clustering.schedule.inline",
    parse=boolean,
    default=False,
    doc="A write plans the clustering that is due, and leaves it to cluster.py.",
)
CLUSTER_FILTER_MODE = Key(
    name="hoodie.clustering.plan.partition.filter.mode",
    parse=choice(PartitionFilterMode),
    default=PartitionFilterMode.NONE,
    doc="Which partitions a clustering looks at.",
)
CLUSTER_LOOKBACK = Key(
    name="hoodie.clustering.plan.strategy.daybased.lookback.partitions",
    parse=integer(),
    default=2,
    doc="Newest partitions that RECENT_DAYS takes; 0: all.",
)
CLUSTER_SKIP_LATEST = Key(
    name="hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions",
    parse=integer(),
    default=0,
    doc="Newest partitions that RECENT_DAYS leaves out.",
)
CLUSTER_BEGIN_PARTITION = Key(
    name="hoodie.clustering.plan.strategy.cluster.begin.partition",
    parse=text,
    default="",
    doc="First partition of SELECTED_PARTITIONS (inclusive).",
)
CLUSTER_END_PARTITION = Key(
    name="hoodie.clustering.plan.strategy.cluster.end.partition",
    parse=text,
    default="",
    doc="Last partition of SELECTED_PARTITIONS (inclusive).",
)
CLUSTER_PARTITION_REGEX = Key(
    name="hoodie.clustering.plan.strategy.partition.regex.pattern",
    parse=_pattern,
    default="",
    doc="Partitions that are clustered: those that the whole expression matches.",
)
CLUSTER_PARTITIONS = Key(
    name="hoodie.clustering.plan.strategy.partition.selected",
    parse=names,
    default=NO_NAMES,
    doc="Partitions that are clustered, by name.",
)
LAYOUT_STRATEGY = Key(
    name="hoodie.layout.optimize.strategy",
    parse=choice(LayoutStrategy),
    default=LayoutStrategy.LINEAR,
    doc="The order of rows by the sort columns: one after the other, or along a Z-order or Hilbert curve.",
)
ROLLBACK_PENDING_CLUSTERING = Key(
    name="hoodie.clustering.rollback.pending.replacecommit.on.conflict",
    parse=boolean,
    default=False,
    doc="A write that changes file groups of a pending clustering takes that plan back.",
)
CLUSTER_EXPIRES = Key(
    name="hoodie.clustering.enable.expirations",
    parse=boolean,
    default=False,
    doc="A plan that nobody works at any more expires, and is taken back when clustering is planned next.",
)
CLUSTER_EXPIRES_AFTER = Key(
    name="hoodie.clustering.expiration.threshold.mins",
    parse=integer(1),
    default=60,
    doc="Minutes after which a clustering plan expires.",
)
