"""Rewrites on Spark: in parts, gone on with; and what a writer does beside and after them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.engine.on_demand import LOCAL_BYTES, SparkOnDemand
from spark_jobs.options.choices import EngineKind
from spark_jobs.options.result import JobState
from tests.spark.tables import COW, MOR, Jobs, row, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ALLOW = {"hoodie.clustering.updates.strategy": "SparkAllowUpdateStrategy"}
TAKE_BACK = {**ALLOW, "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "true"}


def test_a_compaction_in_parts(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=MOR)
    jobs.write("bulk_insert", rows(range(30), partitions="abc"))
    jobs.write("upsert", rows(range(30), "two", 2, partitions="abc"))
    before = jobs.rows_with_meta()
    planned = jobs.compact("schedule")
    part = jobs.compact("execute", max_bytes=planned.bytes_in // 2)
    assert (part.state, part.extra["engine"]) == (JobState.SCHEDULED, "spark")
    assert part.extra["done"] + part.extra["left"] == planned.extra["file_slices"]
    jobs.write("upsert", [row(0, "a", "three", 3)])  # beside it: the log goes to the slice that it will make
    done = jobs.compact("execute", max_seconds=600)
    assert (done.state, done.instant, done.extra["resumed"]) == (
        JobState.COMPLETED,
        planned.instant,
        part.extra["done"],
    )
    expected = [one for one in before if one["id"] != 0]
    assert [one for one in jobs.rows_with_meta() if one["id"] != 0] == expected
    assert {"id": 0, "p": "a", "v": "three", "ts": 3} in jobs.rows()


def test_updates_beside_a_pending_clustering(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=COW)
    jobs.write("bulk_insert", rows(range(10)))
    jobs.write("bulk_insert", rows(range(10, 20)))
    planned = jobs.cluster("schedule").instant
    with pytest.raises(WriteConflictError, match=f"is part of the pending clustering {planned}"):
        jobs.write("upsert", rows(range(2), "two", 2))
    replace(jobs, conf={**jobs.conf, **ALLOW}).write("upsert", rows(range(2), "two", 2))
    with pytest.raises(WriteConflictError, match=f"take the plan back .* --instant-time {planned}"):
        jobs.cluster("execute")
    replace(jobs, conf={**jobs.conf, **TAKE_BACK}).write("upsert", rows(range(2), "three", 3))
    assert not jobs.table().timeline.pending({Action.REPLACE_COMMIT})
    before = jobs.rows_with_meta()
    assert jobs.cluster().state is JobState.COMPLETED
    assert jobs.rows_with_meta() == before


def test_a_writer_compacts_after_its_commit(spark: SparkSession, tmp_path: Path) -> None:
    """Cleans and archives too; its commit stands, whatever becomes of that."""
    inline = {
        "hoodie.compact.inline": "true",
        "hoodie.compact.inline.max.delta.commits": "2",
        "hoodie.clean.automatic": "true",
        "hoodie.cleaner.commits.retained": "1",
        "hoodie.archive.automatic": "true",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.metadata.compact.max.delta.commits": "1",
    }
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=MOR, conf=inline)
    jobs.write("bulk_insert", rows(range(10)))
    assert not jobs.table().timeline.completed(Action.COMMIT)
    jobs.write("upsert", rows(range(4), "two", 2))
    assert len(jobs.table().timeline.completed(Action.COMMIT)) == 1
    assert not [one for one in jobs.table().file_slices() if one.log_files]
    for ts in (3, 4):
        jobs.write("upsert", rows(range(4), f"v{ts}", ts))
    line = jobs.table().timeline
    assert not [one for one in jobs.table().file_slices() if one.log_files]
    assert line.completed(Action.CLEAN)
    assert list((jobs.path / ".hoodie/archived").glob(".commits_.archive.*"))
    assert jobs.rows() == shown([*rows(range(4), "v4", 4), *rows(range(4, 10))])


def test_a_writer_clusters_after_its_commit(spark: SparkSession, tmp_path: Path) -> None:
    """Only plans it where that is asked for; what it can't do is told, and the commit stands."""
    inline = {
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.async.max.commits": "2",
        "hoodie.clustering.inline.max.commits": "2",
        "hoodie.clustering.plan.strategy.sort.columns": "v",
    }
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=COW, conf=inline)
    for first in (0, 10):
        jobs.write("bulk_insert", rows(range(first, first + 10)))
    assert len(jobs.table().timeline.completed(Action.REPLACE_COMMIT)) == 1
    plans = {"hoodie.clustering.inline": "false", "hoodie.clustering.schedule.inline": "true"}
    planning = replace(jobs, conf={**inline, **plans})
    for first in (20, 30):
        planning.write("bulk_insert", rows(range(first, first + 10)))
    assert len(jobs.table().timeline.pending({Action.REPLACE_COMMIT})) == 1
    unable = {"hoodie.clustering.plan.strategy.class": "SparkSingleFileSortPlanStrategy"}
    replace(jobs, conf={**inline, **unable}).write("bulk_insert", rows(range(40, 42)))
    assert jobs.rows() == shown(rows(range(42)))


def test_a_writer_compacts_its_logs_after_its_commit(spark: SparkSession, tmp_path: Path) -> None:
    inline = {
        "hoodie.log.compaction.enable": "true",
        "hoodie.log.compaction.inline": "true",
        "hoodie.log.compaction.blocks.threshold": "2",
    }
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=MOR, conf=inline)
    jobs.write("bulk_insert", rows(range(4)))
    for ts in (2, 3):
        jobs.write("upsert", rows(range(4), f"v{ts}", ts))
    done = [one for one in jobs.table().timeline.completed_commits() if _operation(jobs, one) == "LOG_COMPACT"]
    assert len(done) == 1
    assert jobs.rows() == shown(rows(range(4), "v3", 3))


def _operation(jobs: Jobs, instant: Instant) -> str:
    return jobs.table().timeline.commit_metadata(instant, SYSTEM_CLOCK).operation_type.value


def test_little_work_needs_no_session() -> None:
    def settled(kind: EngineKind, size: int) -> str:
        with SparkOnDemand("test", kind=kind) as engine:
            name = engine.settle(size)
            assert name == engine.settle(0)  # once and for all
            return name

    assert [settled(EngineKind.AUTO, size) for size in (0, LOCAL_BYTES, LOCAL_BYTES + 1)] == ["local", "local", "spark"]
    assert settled(EngineKind.SPARK, 0) == "spark"
    assert settled(EngineKind.LOCAL, 1 << 50) == "local"
    work: Any = lambda item, scope: item + 1  # noqa: E731
    with SparkOnDemand("test", kind=EngineKind.AUTO) as engine:
        engine.settle(1)
        assert (engine.slots, engine.run_each([1, 2], work)) == (1, [2, 3])
