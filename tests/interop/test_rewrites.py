"""Compaction, log compaction and clustering by Hudi and by us, each with the other's plans; and the plans themselves,
which on the same table must be the same.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.rewriting.completion import FOLDER
from spark_jobs.services.validation.run import validate
from tests.interop.real_hudi import RealHudi
from tests.support.jobs import job_context

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
COMPACTION, LOG_COMPACTION, CLUSTERING = "Compaction", "LogCompaction", "Clustering"
STRATEGIES = "org.apache.hudi.table.action.compact.strategy"
CLUSTERING_STRATEGIES = "org.apache.hudi.client.clustering.plan.strategy"
PLAN = "hoodie.clustering.plan"
DUE = {
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.log.compaction.blocks.threshold": "2",
    "hoodie.clustering.async.max.commits": "1",
    "hoodie.clustering.inline.max.commits": "1",
}
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("v", pa.string()), ("ts", pa.int64())])
DAYS = tuple((datetime.now(UTC) - timedelta(days=back)).strftime("%Y/%m/%d") for back in (0, 1, 7, 30))


def batch(ids: range, ts: int) -> pa.Table:
    values = [f"{one * 7919 % 1000}" for one in ids]
    return pa.table([list(ids), [DAYS[one % len(DAYS)] for one in ids], values, [ts] * len(ids)], schema=SCHEMA)


@dataclass(kw_only=True)
class Table:
    """A table that Hudi writes, and both serve."""

    path: Path
    table_type: str
    hudi: RealHudi

    def write(self, rows: pa.Table, operation: str = "upsert") -> None:
        options = {
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "day",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
            "hoodie.table.name": "t",
            "hoodie.compact.inline": "false",
            "hoodie.parquet.small.file.limit": "0",
        }
        self.hudi.write(self.path, rows, operation, options)

    def serve(self, kind: str, conf: Mapping[str, str] | None = None, **options: Any) -> JobResult:
        """Our service, in this process."""
        given = {**DUE, **(conf or {})}
        engine = LocalEngine(SYSTEM_CLOCK)
        if kind == CLUSTERING:
            clustering = ClusteringOptions(base_path=str(self.path), hoodie_conf=given, **options)
            return run_clustering(clustering, job_context(engine=engine))
        logs = kind == LOG_COMPACTION
        compaction = CompactionOptions(base_path=str(self.path), hoodie_conf=given, log_compaction=logs, **options)
        return run_compaction(compaction, job_context(engine=engine))

    def plan_by_hudi(self, kind: str, conf: Mapping[str, str] | None = None) -> str | None:
        found: str | None = self.hudi.ask(
            "plan_service", path=str(self.path), kind=kind, options={**DUE, **(conf or {})}
        )
        return found

    def run_by_hudi(self, kind: str, instant: str, conf: Mapping[str, str] | None = None) -> None:
        options = {**DUE, **(conf or {})}
        self.hudi.ask("run_plan", path=str(self.path), kind=kind, instant=instant, options=options)

    def rows(self) -> list[tuple[Any, ...]]:
        return _rows(HudiTable.open(str(self.path)).scan().to_arrow())

    def check(self, expected: list[tuple[Any, ...]], when: str) -> None:
        """Both read the rows, and nothing is wrong with the table."""
        assert self.rows() == expected, f"our reader {when}"
        assert _rows(self.hudi.read(self.path)) == expected, f"Hudi {when}"
        found = [one for one in validate(str(self.path), deep=True) if one.is_error]
        assert not found, f"{when}: {found}"
        assert not self.hudi.validate(self.path), f"Hudi's validation {when}"

    def payload(self, instant: str, kind: str) -> dict[str, Any]:
        action = {CLUSTERING: Action.REPLACE_COMMIT, COMPACTION: Action.COMPACTION}.get(kind, Action.LOG_COMPACTION)
        requested = Instant(instant, action, State.REQUESTED)
        return HudiTable.open(str(self.path)).timeline.payload(requested, SYSTEM_CLOCK)

    def forget(self, instant: str) -> None:
        """Take a plan that nobody began off the timeline."""
        for one in (self.path / ".hoodie").glob(f"{instant}.*"):
            one.unlink()


def _rows(found: pa.Table) -> list[tuple[Any, ...]]:
    """With the meta fields that a rewrite keeps."""
    names = ["_hoodie_record_key", "_hoodie_commit_time", "_hoodie_commit_seqno", *SCHEMA.names]
    return sorted(zip(*(found[name].to_pylist() for name in names), strict=True))


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory, real_hudi: RealHudi) -> Callable[[str], Path]:
    """A table of each type, written once."""
    made: dict[str, Path] = {}

    def of(table_type: str) -> Path:
        if table_type not in made:
            one = Table(path=tmp_path_factory.mktemp(table_type) / "t", table_type=table_type, hudi=real_hudi)
            one.write(batch(range(80), 1), "bulk_insert")
            one.write(batch(range(80, 100), 1), "insert")
            one.write(batch(range(0, 60, 3), 2))
            one.write(batch(range(0, 60, 4), 3))
            made[table_type] = one.path
        return made[table_type]

    return of


@pytest.fixture
def table(
    request: pytest.FixtureRequest, tmp_path: Path, real_hudi: RealHudi, templates: Callable[[str], Path]
) -> Table:
    table_type = getattr(request, "param", MOR)
    path = tmp_path / "t"
    shutil.copytree(templates(table_type), path)
    return Table(path=path, table_type=table_type, hudi=real_hudi)


BY_STRATEGY: list[tuple[str, dict[str, str]]] = [
    (COMPACTION, {}),
    (COMPACTION, {"hoodie.compaction.strategy": f"{STRATEGIES}.BoundedIOCompactionStrategy"}),
    (COMPACTION, {"hoodie.compaction.strategy": f"{STRATEGIES}.UnBoundedCompactionStrategy"}),
    (
        COMPACTION,
        {
            "hoodie.compaction.strategy": f"{STRATEGIES}.LogFileNumBasedCompactionStrategy",
            "hoodie.compaction.logfile.num.threshold": "2",
        },
    ),
    (
        COMPACTION,
        {
            "hoodie.compaction.strategy": f"{STRATEGIES}.DayBasedCompactionStrategy",
            "hoodie.compaction.daybased.target.partitions": "2",
        },
    ),
    (
        COMPACTION,
        {
            "hoodie.compaction.strategy": f"{STRATEGIES}.BoundedPartitionAwareCompactionStrategy",
            "hoodie.compaction.daybased.target.partitions": "3",
        },
    ),
    (
        COMPACTION,
        {
            "hoodie.compaction.strategy": f"{STRATEGIES}.UnBoundedPartitionAwareCompactionStrategy",
            "hoodie.compaction.daybased.target.partitions": "3",
        },
    ),
    (LOG_COMPACTION, {}),
    (CLUSTERING, {f"{PLAN}.strategy.sort.columns": "v"}),
    (CLUSTERING, {f"{PLAN}.partition.filter.mode": "RECENT_DAYS"}),
    (
        CLUSTERING,
        {
            f"{PLAN}.strategy.class": f"{CLUSTERING_STRATEGIES}.SparkRecentDaysClusteringPlanStrategy",
            f"{PLAN}.strategy.daybased.lookback.partitions": "2",
            f"{PLAN}.strategy.daybased.skipfromlatest.partitions": "1",
        },
    ),
    (
        CLUSTERING,
        {
            f"{PLAN}.partition.filter.mode": "SELECTED_PARTITIONS",
            f"{PLAN}.strategy.cluster.begin.partition": min(DAYS),
            f"{PLAN}.strategy.cluster.end.partition": sorted(DAYS)[2],
        },
    ),
    (CLUSTERING, {f"{PLAN}.strategy.partition.regex.pattern": f"({DAYS[0]}|{DAYS[2]})"}),
    (CLUSTERING, {f"{PLAN}.strategy.partition.selected": f"{DAYS[1]}"}),
    (
        CLUSTERING,
        {f"{PLAN}.strategy.single.group.clustering.enabled": "false", f"{PLAN}.strategy.max.bytes.per.group": "1"},
    ),
]


def test_plans_are_those_of_hudi(table: Table) -> None:
    """Operations and groups, in their order where Hudi sorts by more than its listing."""
    wrong = []
    for kind, conf in BY_STRATEGY:
        theirs = table.plan_by_hudi(kind, conf)
        expected = None if theirs is None else _comparable(table.payload(theirs, kind), kind)
        if theirs is not None:
            table.forget(theirs)
        ours = table.serve(kind, conf, mode="schedule").instant
        found = None if ours is None else _comparable(table.payload(ours, kind), kind)
        if ours is not None:
            table.forget(ours)
        if found != expected:
            wrong.append(f"{kind} {conf}:\n  ours {found}\n  Hudi {expected}")
    assert not wrong, "\n".join(wrong)


OURS_ALONE = ("hoodie.layout.optimize.strategy", "hoodie.clustering.plan.strategy.target.file.max.bytes")
"""Of the parameters in a clustering plan: Hudi takes these from the configuration of whoever executes it."""


def _comparable(raw: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """A plan without what depends on the order of a listing."""
    if kind != CLUSTERING:
        ordered = sorted(raw["operations"], key=lambda one: (one["partitionPath"], one["fileId"]))
        sizes = [one["metrics"]["TOTAL_LOG_FILES_SIZE"] for one in raw["operations"]]
        by_size = sizes == sorted(sizes, reverse=True)
        return {**raw, "operations": ordered, "largest first": by_size if kind == COMPACTION else None}
    plan = raw["clusteringPlan"]
    groups = [{**one, "slices": [_plain(part) for part in one["slices"]]} for one in plan["inputGroups"]]
    for one in groups:
        one["slices"].sort(key=lambda part: part["fileId"])
    groups.sort(key=lambda one: (one["slices"][0]["partitionPath"], one["slices"][0]["fileId"]))
    strategy = plan["strategy"]
    params = {name: value for name, value in (strategy["strategyParams"] or {}).items() if name not in OURS_ALONE}
    strategy = {**strategy, "strategyParams": params}
    return {**raw, "clusteringPlan": {**plan, "inputGroups": groups, "strategy": strategy}}


def _plain(part: Mapping[str, Any]) -> dict[str, Any]:
    return {**part, "deltaFilePaths": sorted(path.removeprefix("file:") for path in part["deltaFilePaths"])}


SLOW = pytest.mark.skipif(not os.environ.get("PYHUDI_ALL_PLANS"), reason="slow: make all-plans")
SORTED = {f"{PLAN}.strategy.sort.columns": "v,id"}
ROUNDS = [
    pytest.param(MOR, COMPACTION, {}, id="compaction"),
    pytest.param(MOR, LOG_COMPACTION, {}, id="log compaction"),
    pytest.param(MOR, CLUSTERING, SORTED, id="clustering of MOR"),
    pytest.param(COW, CLUSTERING, {**SORTED, "hoodie.layout.optimize.strategy": "ZORDER"}, id="clustering of COW"),
]


@pytest.mark.parametrize(("table", "kind", "conf"), ROUNDS, indirect=["table"])
def test_each_executes_the_others_plan(table: Table, kind: str, conf: dict[str, str]) -> None:
    before = table.rows()
    theirs = table.plan_by_hudi(kind, conf)
    assert theirs is not None
    done = table.serve(kind, conf, mode="execute")
    assert (done.state, done.instant) == (JobState.COMPLETED, theirs)
    table.check(before, f"after our {kind} by Hudi's plan")
    table.write(batch(range(0, 30, 2), 4))
    table.write(batch(range(0, 30, 5), 5))
    before = table.rows()
    ours = table.serve(kind, conf, mode="schedule").instant
    assert ours is not None
    table.run_by_hudi(kind, ours, conf)
    table.check(before, f"after Hudi's {kind} by our plan")
    table.write(batch(range(10, 40, 3), 6))
    before = table.rows()
    assert table.serve(kind, conf).state is JobState.COMPLETED
    table.check(before, f"after our {kind}")


@pytest.mark.parametrize(
    ("kind", "conf"),
    [
        pytest.param(COMPACTION, {}, id="compaction"),
        pytest.param(LOG_COMPACTION, {}, id="log compaction", marks=SLOW),
        pytest.param(CLUSTERING, {f"{PLAN}.strategy.max.bytes.per.group": "1"}, id="clustering", marks=SLOW),
    ],
)
def test_each_plans_beside_the_others_pending_plan_and_executes_both(
    table: Table, kind: str, conf: dict[str, str]
) -> None:
    """Each makes one plan of some file groups, after a write another one, which is the same for both, and executes the
    two plans of the other, the newer one first.
    """
    for planner, executor, number in (("ours", "Hudi", 1), ("Hudi", "ours", 2)):
        if number > 1:
            table.write(batch(range(0, 60, 6), 10 * number))
        first = _planned(table, planner, kind, {f"{PLAN}.strategy.max.num.groups": "1", **conf})
        if kind == CLUSTERING:  # of whose plans updates are rejected
            table.write(batch(range(1000 * number, 1000 * number + 20), 10 * number + 1), "insert")
        else:
            for step in (2, 5) if kind == LOG_COMPACTION else (5,):  # two blocks make a log compaction due
                table.write(batch(range(0, 100, step), 10 * number + step))
        theirs = table.plan_by_hudi(kind, conf)
        assert theirs is not None
        expected = _comparable(table.payload(theirs, kind), kind)
        table.forget(theirs)
        second = _planned(table, planner, kind, conf)
        assert _comparable(table.payload(second, kind), kind) == expected
        assert not _groups(table, first, kind) & _groups(table, second, kind)
        before = table.rows()
        for instant in (second, first):
            if executor == "Hudi":
                table.run_by_hudi(kind, instant, conf)
            else:
                assert table.serve(kind, conf, mode="execute", instant_time=instant).instant == instant
        table.check(before, f"after both {kind}s of {planner} were executed by {executor}")


def _planned(table: Table, planner: str, kind: str, conf: Mapping[str, str]) -> str:
    if planner == "Hudi":
        found = table.plan_by_hudi(kind, conf)
    else:
        made = table.serve(kind, conf, mode="schedule")
        assert made.reason is None
        found = made.instant
    assert found is not None
    return found


def _groups(table: Table, instant: str, kind: str) -> set[str]:
    raw = table.payload(instant, kind)
    if kind != CLUSTERING:
        return {str(one["fileId"]) for one in raw["operations"]}
    return {str(one["fileId"]) for group in raw["clusteringPlan"]["inputGroups"] for one in group["slices"]}


@pytest.mark.parametrize(("table", "kind"), [(MOR, COMPACTION), (COW, CLUSTERING)], indirect=["table"])
def test_hudi_goes_on_with_what_we_left_half_done(table: Table, kind: str) -> None:
    """It rolls our part back and does all of it; our records are void with that, and swept by our next run."""
    before = table.rows()
    conf = {f"{PLAN}.strategy.max.bytes.per.group": "1"}
    planned = table.serve(kind, conf, mode="schedule")
    assert planned.instant is not None
    part = table.serve(kind, conf, mode="execute", max_bytes=planned.bytes_in // 2)
    assert part.state is JobState.SCHEDULED
    records = list((table.path / FOLDER).glob("*/*.json"))
    assert len(records) == part.extra["done"]
    table.run_by_hudi(kind, planned.instant, conf)
    table.check(before, f"after Hudi's {kind} of what we began")
    assert not (table.path / ".hoodie/.temp" / planned.instant).exists()
    table.write(batch(range(0, 30, 2), 4))
    before = table.rows()
    assert table.serve(kind, conf).state is JobState.COMPLETED
    table.check(before, f"after our next {kind}")
    assert not [one for one in records if one.exists()]
