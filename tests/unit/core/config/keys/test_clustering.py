"""Classes of Hudi by name: those that stand for something here, and what is said of the others."""

from __future__ import annotations

import pytest

from spark_jobs.core.config.key import Key
from spark_jobs.core.config.keys import clustering as keys
from spark_jobs.core.errors import ConfigError

pytestmark = pytest.mark.unit

PACKAGE = "org.apache.hudi.client.clustering"


def test_a_class_with_or_without_its_package() -> None:
    for prefix in ("", f"{PACKAGE}.run.strategy."):
        given = {keys.CLUSTER_EXECUTION_STRATEGY.name: f"{prefix}SparkSortAndSizeExecutionStrategy"}
        found = keys.CLUSTER_EXECUTION_STRATEGY.of(given)
        assert found is keys.ClusteringExecutionStrategy.SORT_AND_SIZE


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (
            keys.CLUSTER_EXECUTION_STRATEGY,
            f"{PACKAGE}.run.strategy.SparkSingleFileSortExecutionStrategy",
            "give SparkSizeBasedClusteringPlanStrategy .*max.bytes.per.group=1",
        ),
        (
            keys.CLUSTER_PLAN_STRATEGY,
            f"{PACKAGE}.plan.strategy.SparkSingleFileSortPlanStrategy",
            "give SparkSizeBasedClusteringPlanStrategy .*max.bytes.per.group=1",
        ),
        (keys.CLUSTER_PLAN_STRATEGY, "SparkConsistentBucketClusteringPlanStrategy", "consistent hashing.*leave it out"),
        (keys.UPDATES_STRATEGY, "SparkConsistentBucketDuplicateUpdateStrategy", "consistent hashing.*leave it out"),
        (keys.CLUSTER_EXECUTION_STRATEGY, "com.mine.Strategy", "give one of SparkSortAndSizeExecutionStrategy"),
    ],
)
def test_what_to_use_instead(key: Key[object], value: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        key.of({key.name: value})
