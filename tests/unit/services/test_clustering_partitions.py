"""Which partitions a clustering looks at: literal tables."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.services.clustering.partitions import PartitionFilter

pytestmark = pytest.mark.unit

PLAN = "hoodie.clustering.plan."
STRATEGY = f"{PLAN}strategy.class"
PACKAGE = "org.apache.hudi.client.clustering.plan.strategy."
DAYS = ["d1", "d2", "d3", "d4", "e1"]
BOUNDS = {f"{PLAN}strategy.cluster.begin.partition": "d2", f"{PLAN}strategy.cluster.end.partition": "d4"}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, "d1 d2 d3 d4 e1"),
        ({f"{PLAN}partition.filter.mode": "RECENT_DAYS"}, "e1 d4"),
        ({STRATEGY: f"{PACKAGE}SparkRecentDaysClusteringPlanStrategy"}, "e1 d4"),
        (
            {
                STRATEGY: "SparkRecentDaysClusteringPlanStrategy",
                f"{PLAN}strategy.daybased.lookback.partitions": "3",
                f"{PLAN}strategy.daybased.skipfromlatest.partitions": "1",
            },
            "d4 d3 d2",
        ),
        ({f"{PLAN}partition.filter.mode": "SELECTED_PARTITIONS", **BOUNDS}, "d2 d3 d4"),
        ({STRATEGY: f"{PACKAGE}SparkSelectedPartitionsClusteringPlanStrategy", **BOUNDS}, "d2 d3 d4"),
        ({f"{PLAN}strategy.partition.regex.pattern": "d[13]"}, "d1 d3"),
        ({f"{PLAN}strategy.partition.regex.pattern": "1"}, ""),  # the whole name
        ({f"{PLAN}strategy.partition.selected": "e1, d1,x"}, "e1 d1"),
        ({f"{PLAN}partition.filter.mode": "DAY_ROLLING"}, "d4"),
    ],
)
def test_filter(properties: dict[str, str], expected: str) -> None:
    assert " ".join(PartitionFilter.of(properties, hour=3).apply(DAYS)) == expected


def test_selected_partitions_need_bounds() -> None:
    given = {f"{PLAN}partition.filter.mode": "SELECTED_PARTITIONS", f"{PLAN}strategy.cluster.begin.partition": "a"}
    with pytest.raises(ConfigError, match=r"needs hoodie\.clustering\.plan\.strategy\.cluster\.end\.partition"):
        PartitionFilter.of(given, hour=0)
