"""A clustering that could not be carried out, or not without harm, is refused before it stands in anybody's way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.keys.clustering import LayoutStrategy
from spark_jobs.core.errors import ConfigError, CorruptTableError
from spark_jobs.core.format.instant import State
from spark_jobs.core.table import HudiTable
from spark_jobs.options.result import JobState
from spark_jobs.services.clustering.job import ClusteringService
from spark_jobs.services.clustering.plan import ClusteringPlan
from spark_jobs.services.clustering.sortable import sort_columns_in
from tests.support.folder import Folder, file_at
from tests.support.payloads import stored
from tests.unit.core.support import new_table
from tests.unit.services.by_hand import everything, insert
from tests.unit.services.planned import actions, cluster

pytestmark = pytest.mark.unit

STRATEGY = "hoodie.clustering.plan.strategy."
SINGLE = f"{STRATEGY}single.group.clustering.enabled"
SCHEMA = pa.schema(
    [
        ("number", pa.int32()),
        ("text", pa.string()),
        ("amount", pa.decimal128(10, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("code", pa.binary(4)),
        ("point", pa.struct([("x", pa.float64())])),
        ("tags", pa.list_(pa.string())),
        ("named", pa.map_(pa.string(), pa.int32())),
        ("deep", pa.struct([("tags", pa.list_(pa.string()))])),
    ]
)
LINE, CURVES = LayoutStrategy.LINEAR, (LayoutStrategy.ZORDER, LayoutStrategy.HILBERT)


@pytest.fixture
def table(root: Folder) -> HudiTable:
    made = new_table(root / "t", merge_on_read=False, clock=SYSTEM_CLOCK)
    for key in "abc":
        insert(made, key, f"{key}2")
    return made


@pytest.mark.parametrize("layout", LayoutStrategy)
def test_columns_with_an_order(layout: LayoutStrategy) -> None:
    sort_columns_in(SCHEMA, ["number", "text", "amount", "at"], layout, "table t")
    if layout is LINE:
        sort_columns_in(SCHEMA, ["code", "point"], layout, "table t")


@pytest.mark.parametrize(
    ("column", "layouts", "kind"),
    [
        ("tags", (LINE, *CURVES), "list<"),
        ("named", (LINE, *CURVES), "map<"),
        ("deep", (LINE, *CURVES), "struct<"),
        ("point", CURVES, "struct<"),
        ("code", CURVES, "fixed_size_binary"),
    ],
)
def test_columns_without_an_order(column: str, layouts: tuple[LayoutStrategy, ...], kind: str) -> None:
    for layout in layouts:
        with pytest.raises(
            ConfigError, match=rf"laid out {layout.value} by column {column}, which is {kind}.*: sort by other columns"
        ):
            sort_columns_in(SCHEMA, ["number", column], layout, "table t")


def test_case_does_not_matter_where_it_is_clear() -> None:
    assert sort_columns_in(SCHEMA, ["Number", "text"], LINE, "table t") == ("number", "text")
    twins = pa.schema([("id", pa.int32()), ("ID", pa.int32())])
    assert sort_columns_in(twins, ["ID"], LINE, "table t") == ("ID",)
    with pytest.raises(ConfigError, match="sort column Id is not in table t"):
        sort_columns_in(twins, ["Id"], LINE, "table t")


def test_a_column_that_is_not_there_makes_no_plan(table: HudiTable) -> None:
    with pytest.raises(ConfigError, match="sort column absent is not in table t: its columns are"):
        cluster(table, conf={f"{STRATEGY}sort.columns": "id,absent"})
    assert actions(table) == []


def test_a_partition_named_twice_is_looked_at_once(table: HudiTable) -> None:
    before = everything(table)
    done = cluster(table, conf={f"{STRATEGY}partition.selected": "p,p"})
    assert (done.state, done.files_in) == (JobState.COMPLETED, 3)
    assert everything(table) == before


def test_a_filter_that_no_partition_passes_is_told(table: HudiTable) -> None:
    done = cluster(table, conf={f"{STRATEGY}partition.selected": "x,y"})
    assert done.state is JobState.NOTHING_TO_DO
    assert done.reason == f"none of 1 partition(s) is chosen by {STRATEGY}partition.selected=x,y"


def test_small_slices_that_are_alone_are_told(root: Folder) -> None:
    made = new_table(root / "t", merge_on_read=False, clock=SYSTEM_CLOCK)
    insert(made, "a", "a2")
    done = cluster(made, conf={f"{STRATEGY}small.file.limit": "1000000", SINGLE: "false"})
    assert done.reason == (
        "1 of 1 file slices are below 1000000 bytes and free, each alone in its partition, and groups of one are not "
        f"made ({SINGLE}=false)"
    )


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda plan: replace(plan, sort_columns=("gone",)), ConfigError, "sort column gone is not in table t"),
        (lambda plan: replace(plan, groups=plan.groups * 2), CorruptTableError, "more than once, which would double"),
    ],
)
def test_a_plan_of_another_that_would_do_harm(
    table: HudiTable, change: Callable[[ClusteringPlan], ClusteringPlan], error: type[Exception], said: str
) -> None:
    """It stays as it is, and a message says how it is taken back."""
    before = everything(table)
    planned = cluster(table, mode="schedule")
    service, line = ClusteringService({}), table.refreshed().timeline
    (pending,) = service.pending(table.refreshed())
    plan = service.read(table.refreshed(), pending)
    path = file_at(line.storage, line.path(pending.at(State.REQUESTED)))
    path.write_bytes(stored(service.payload(table, change(plan), {})))
    was = actions(table)
    for _ in range(2):
        with pytest.raises(error, match=f"{said}.*--mode cancel --instant-time {planned.instant}"):
            cluster(table, mode="execute")
    assert actions(table) == was
    assert cluster(table, mode="cancel", instant_time=planned.instant).state is JobState.COMPLETED
    assert cluster(table).state is JobState.COMPLETED
    assert everything(table) == before
