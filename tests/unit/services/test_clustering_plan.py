"""Which files a clustering rewrites together: literal tables."""

from __future__ import annotations

import pytest

from spark_jobs.core.config.keys.clustering import LayoutStrategy
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload
from spark_jobs.core.timeline.plans.rewriting import RequestedClustering
from spark_jobs.services.clustering.plan import SORT_COLUMNS, ClusteringLimits, ClusteringPlan, plan_clustering
from tests.support.payloads import stored
from tests.unit.core.support import file_slice

pytestmark = pytest.mark.unit

TARGET, LAYOUT = "hoodie.clustering.plan.strategy.target.file.max.bytes", "hoodie.layout.optimize.strategy"


def limits(**changes: int) -> ClusteringLimits:
    values = {
        "small_file_limit": 100,
        "target_file": 100,
        "group_bytes": 150,
        "max_groups": 10,
        "single_groups": True,
        "max_file_size": 120,
    }
    return ClusteringLimits(**{**values, **changes})


SLICES = (
    file_slice("a", "1", 40),
    file_slice("b", "1", 99),
    file_slice("c", "1", 100),  # not small: the limit is exclusive
    file_slice("d", "1", 60, 7),
    file_slice("e", "1", 50),
    file_slice("f", "1", 30, partition="q"),
)


@pytest.mark.parametrize(
    ("given", "busy", "expected"),
    [
        # largest first, a group is full when the next would pass 150 bytes
        (limits(), "", ["b 1", "dea 2", "f 1"]),
        (limits(group_bytes=159), "", ["bd 2", "ea 1", "f 1"]),
        (limits(group_bytes=1000), "", ["bdea 3", "f 1"]),
        (limits(group_bytes=1000, target_file=1000), "", ["bdea 1", "f 1"]),
        (limits(single_groups=False), "", ["b 1", "dea 2"]),  # Hudi asks of the last group of a partition alone
        (limits(max_groups=1), "", ["b 1"]),
        (limits(), "de", ["ba 2", "f 1"]),
        (limits(small_file_limit=0), "", []),
        (limits(small_file_limit=50), "", ["a 1", "f 1"]),
    ],
)
def test_groups(given: ClusteringLimits, busy: str, expected: list[str]) -> None:
    plan = plan_clustering(SLICES, frozenset(("a", name) for name in busy), given, ())
    shown = ["".join(one.file_id for one in group.slices) + f" {group.output_groups}" for group in plan.groups]
    assert shown == expected


def test_a_slice_without_base_file_counts_as_a_full_one() -> None:
    plan = plan_clustering([file_slice("a", "1", None, 5)], frozenset(), limits(), ())
    assert [group.output_groups for group in plan.groups] == [2]


def test_the_plan_survives_the_timeline() -> None:
    plan = plan_clustering(SLICES, frozenset(), limits(), ("x", "y"), layout=LayoutStrategy.HILBERT)
    raw = decode_payload(stored(plan.requested().payload("/lake/t")), "x")
    sizes = {path: size for one in SLICES for path, size in one.sizes}
    assert ClusteringPlan.of(RequestedClustering.of(raw), sizes, VERSION_6) == plan
    first = raw["clusteringPlan"]["inputGroups"][0]["slices"][0]
    assert first["dataFilePath"] == "/lake/t/a/b_0-1-1_1.parquet"
    assert raw["clusteringPlan"]["strategy"]["strategyParams"] == {
        "hoodie.clustering.plan.strategy.sort.columns": "x,y",
        "hoodie.clustering.plan.strategy.target.file.max.bytes": "100",
        "hoodie.layout.optimize.strategy": "HILBERT",
    }
    others = {TARGET: "7", LAYOUT: "ZORDER"}
    assert (
        ClusteringPlan.of(RequestedClustering.of(raw), sizes, VERSION_6, others) == plan
    )  # the plan decides, not who executes it


def test_what_a_plan_does_not_say_is_up_to_who_executes_it() -> None:
    raw = decode_payload(
        stored(plan_clustering(SLICES, frozenset(), limits(), ("x", "y")).requested().payload("/t")), "x"
    )
    for name in (TARGET, LAYOUT):  # as in Hudi's plans
        del raw["clusteringPlan"]["strategy"]["strategyParams"][name]
    read = ClusteringPlan.of(RequestedClustering.of(raw), {}, VERSION_6, {TARGET: "7", LAYOUT: "ZORDER"})
    assert (read.target_file, read.layout) == (7, LayoutStrategy.ZORDER)


def test_an_unsorted_plan_has_no_sort_columns() -> None:
    raw = decode_payload(stored(plan_clustering(SLICES, frozenset(), limits(), ()).requested().payload("/t")), "x")
    assert SORT_COLUMNS not in raw["clusteringPlan"]["strategy"]["strategyParams"]
    assert ClusteringPlan.of(RequestedClustering.of(raw), {}, VERSION_6).sort_columns == ()
