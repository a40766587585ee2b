"""A write under an idempotency key happens once, also when it was archived, and when its first attempt died."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from tests.spark.tables import COW, MOR, Jobs, digests, row, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.mark.parametrize("operation", ["upsert", "insert_overwrite"])
def test_an_archived_write_is_not_done_again(spark: SparkSession, tmp_path: Path, operation: str) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    jobs.write("bulk_insert", rows(range(6)))
    batch = [row(0, "a", "new", 2), row(100, "a")]
    first = jobs.write(operation, batch, idempotency_key="load")
    jobs.write("upsert", [row(1, "b", "later", 3)])
    jobs.write("upsert", [row(3, "b", "later", 3)])
    jobs.clean()
    table = jobs.table()
    archive(table.timeline, table.base_path, table.timeline.completed_commits()[:2])
    assert first.instant not in [one.timestamp for one in jobs.table().timeline.instants]
    before, held = digests(jobs.path), jobs.rows()
    again = jobs.write(operation, batch, idempotency_key="load")
    assert digests(jobs.path) == before
    assert jobs.rows() == held
    assert again.reason is not None
    assert again.repeated
    assert first.extra.pop("source_reader") == "tasks"  # a fact of the run, not of the write
    facts = {"reason": None, "seconds_by_phase": {}, "files_in": 0, "bytes_in": 0, "repeated": True}
    assert replace(again, **facts) == replace(first, **facts)  # type: ignore[arg-type]
    other = jobs.write("delete", batch, idempotency_key="load")
    assert (other.extra["operation"], digests(jobs.path)) == (operation, before)
    assert f"it was {operation}, not delete" in (other.reason or "")


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_write_whose_own_attempt_died_is_rolled_back_and_done(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    """The heartbeat of the first attempt carries the key, and is old."""
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=table_type)
    jobs.write("bulk_insert", rows(range(6)))
    table = jobs.table()
    line = table.timeline
    time = next_instant_time(table.clock.now(), table.config.timezone, line.last_time)
    action = Action.DELTA_COMMIT if table_type == MOR else Action.COMMIT
    transition(line, request(line, time, action, b""), State.INFLIGHT, b"")
    beat = Path(heartbeat_path(str(jobs.path), time))
    beat.parent.mkdir(exist_ok=True)
    owner = {"pid": 1, "start": "", "host": "elsewhere"}
    beat.write_text(json.dumps({"owner": owner, "idempotencyKey": "load"}))
    os.utime(beat, (1, 1))
    result = jobs.write("upsert", [row(0, "a", "new", 2)], idempotency_key="load")
    assert result.instant is not None
    assert result.instant > time
    timeline = jobs.table().timeline
    assert time not in {one.timestamp for one in timeline.instants}
    rolled_back = [timeline.payload(one, table.clock)["commitsRollback"] for one in timeline.completed(Action.ROLLBACK)]
    assert rolled_back == [[time]]
    assert jobs.rows() == shown([row(0, "a", "new", 2), *rows(range(6))[1:]])
    assert jobs.write("upsert", [row(0, "a", "new", 2)], idempotency_key="load").instant == result.instant
