"""Rewrites on Spark: in parts, gone on with; and what a writer does beside and after them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.timeline.instant import Action
from spark_jobs.engine.on_demand import LOCAL_BYTES, SparkOnDemand
from spark_jobs.options.choices import EngineKind
from spark_jobs.options.result import JobState
from tests.spark.tables import COW, MOR, Jobs, row, rows

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
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=MOR, conf=inline)
    jobs.write("bulk_insert", rows(range(10)))
    assert not jobs.table().timeline.completed(Action.COMMIT)
    jobs.write("upsert", rows(range(4), "two", 2))
    assert len(jobs.table().timeline.completed(Action.COMMIT)) == 1
    assert not [one for one in jobs.table().file_slices() if one.log_files]


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
