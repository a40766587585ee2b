"""Keys of clustering: when it is due, which files it rewrites, and in which order (Hudi: HoodieClusteringConfig)."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, choice, class_of, integer, names, pattern, text


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


_ONE_FILE = (
    "here a group of each file does the same: give SparkSizeBasedClusteringPlanStrategy and "
    "SparkSortAndSizeExecutionStrategy (or leave both out) with hoodie.clustering.plan.strategy.max.bytes.per.group=1"
)
_CONSISTENT = "it serves buckets of consistent hashing, which this release does not have: leave it out"


class ClusteringPlanStrategy(StrEnum):
    """Which slices a clustering takes, by the class names of Hudi's package
    ``org.apache.hudi.client.clustering.plan.strategy``.
    """

    SIZE_BASED = "SparkSizeBasedClusteringPlanStrategy"
    RECENT_DAYS = "SparkRecentDaysClusteringPlanStrategy"
    SELECTED_PARTITIONS = "SparkSelectedPartitionsClusteringPlanStrategy"


class ClusteringExecutionStrategy(StrEnum):
    """How a group is rewritten, by the class names of Hudi's package
    ``org.apache.hudi.client.clustering.run.strategy``.
    """

    SORT_AND_SIZE = "SparkSortAndSizeExecutionStrategy"


class UpdatesStrategy(StrEnum):
    """What becomes of a write that changes file groups of a pending clustering, by the class names of Hudi's package
    ``org.apache.hudi.client.clustering.update.strategy``.
    """

    REJECT = "SparkRejectUpdateStrategy"
    ALLOW = "SparkAllowUpdateStrategy"


CLUSTER_MAX_COMMITS = Key(
    name="hoodie.clustering.async.max.commits",
    parse=integer(1),
    default=4,
    doc="Commits that make clustering due.",
    aliases=("hoodie.clustering.inline.max.commits",),
)
CLUSTER_SORT_COLUMNS = Key(
    name="hoodie.clustering.plan.strategy.sort.columns",
    parse=names,
    default=NO_NAMES,
    doc="Columns that clustered files are sorted by.",
)
CLUSTER_SMALL_FILE_LIMIT = Key(
    name="hoodie.clustering.plan.strategy.small.file.limit",
    parse=integer(1),
    default=314572800,
    doc="Base files below so many bytes are clustered.",
)
CLUSTER_TARGET_FILE = Key(
    name="hoodie.clustering.plan.strategy.target.file.max.bytes",
    parse=integer(1),
    default=1073741824,
    doc="Bytes of a clustered file.",
)
CLUSTER_GROUP_BYTES = Key(
    name="hoodie.clustering.plan.strategy.max.bytes.per.group",
    parse=integer(1),
    default=2147483648,
    doc="Bytes read by one group; what is more than 92 MiB in memory is sorted by way of the folder TMPDIR, where each "
    "task takes up to the uncompressed size of its group's rows.",
)
CLUSTER_MAX_GROUPS = Key(
    name="hoodie.clustering.plan.strategy.max.num.groups", parse=integer(1), default=30, doc="Groups of one plan."
)
CLUSTER_SINGLE_GROUP = Key(
    name="hoodie.clustering.plan.strategy.single.group.clustering.enabled",
    parse=boolean,
    default=True,
    doc="A group of one file is clustered too.",
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
    parse=pattern,
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
CLUSTER_PLAN_STRATEGY = Key(
    name="hoodie.clustering.plan.strategy.class",
    parse=class_of(
        ClusteringPlanStrategy,
        {
            "SparkSingleFileSortPlanStrategy": _ONE_FILE,
            "SparkConsistentBucketClusteringPlanStrategy": _CONSISTENT,
        },
    ),
    default=ClusteringPlanStrategy.SIZE_BASED,
    doc="How a clustering is planned, by the name of Hudi's class, with or without its package.",
)
CLUSTER_EXECUTION_STRATEGY = Key(
    name="hoodie.clustering.execution.strategy.class",
    parse=class_of(
        ClusteringExecutionStrategy,
        {
            "SparkSingleFileSortExecutionStrategy": _ONE_FILE,
            "SparkConsistentBucketClusteringExecutionStrategy": _CONSISTENT,
            "SingleSparkJobConsistentHashingExecutionStrategy": _CONSISTENT,
        },
    ),
    default=ClusteringExecutionStrategy.SORT_AND_SIZE,
    doc="How a group is rewritten, by the name of Hudi's class; a plan by Hudi is carried out so too.",
)
UPDATES_STRATEGY = Key(
    name="hoodie.clustering.updates.strategy",
    parse=class_of(
        UpdatesStrategy,
        {
            "SparkConsistentBucketDuplicateUpdateStrategy": _CONSISTENT,
            "SparkConsistentHashingDuplicateUpdateStrategy": _CONSISTENT,
        },
    ),
    default=UpdatesStrategy.REJECT,
    doc="Whether a write that changes file groups of a pending clustering is rejected, or the clustering is.",
)
