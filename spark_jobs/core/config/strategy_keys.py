"""Keys whose values are names of Hudi's classes: what stands here for each, or what to use instead.

Also the switch of log compaction, which Hudi has besides ``hoodie.log.compaction.inline``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TypeVar

from spark_jobs.core.config.key import Key, boolean, choice

E = TypeVar("E", bound=StrEnum)

_ONE_FILE = (
    "here a group of each file does the same: give SparkSizeBasedClusteringPlanStrategy and "
    "SparkSortAndSizeExecutionStrategy (or leave both out) with hoodie.clustering.plan.strategy.max.bytes.per.group=1"
)
_CONSISTENT = "it serves buckets of consistent hashing, which this release does not have: leave it out"


def class_of(kind: type[E], instead: Mapping[str, str] | None = None) -> Callable[[str], E]:
    """A class of Hudi's by its name, with or without its package.

    :param instead: what to give in the place of classes that Hudi has and this project has not.
    """
    inner = choice(kind)

    def parse(value: str) -> E:
        short = value.strip().rpartition(".")[2]
        if instead and short in instead:
            raise ValueError(instead[short])
        return inner(short)

    return parse


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
LOG_COMPACT_ENABLED = Key(
    name="hoodie.log.compaction.enable",
    parse=boolean,
    default=False,
    doc="Taken, and without effect on a table's own logs, as in Hudi: `hoodie.log.compaction.inline` runs one after a "
    "write, `compact.py --log-compaction` at any time.",
)
