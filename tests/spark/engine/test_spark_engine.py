"""Work on Spark: in tasks that small pieces share, told of as they end."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.core.handles.context import TaskScope
from spark_jobs.engine import task_watch
from spark_jobs.engine.spark import SparkEngine, parallelism
from spark_jobs.engine.spark_api import HAS_ARROW_UDF

pytestmark = pytest.mark.spark


def in_task(item: int, scope: TaskScope) -> tuple[int, int, str]:
    return item * item, scope.task, scope.write_token


def test_small_pieces_share_tasks_and_keep_their_order(spark: SparkSession) -> None:
    engine, items = SparkEngine(spark), list(range(50))
    shared = engine.run_each(items, in_task, sizes=[1] * 50)
    assert [square for square, _, _ in shared] == [item * item for item in items]
    assert len({token for _, _, token in shared}) == len({task for _, task, _ in shared}) == 4 * parallelism(spark)
    alone = engine.run_each(items[:9], in_task)
    assert [task for _, task, _ in alone] == list(range(9))


def test_ended_tasks_are_told_of_while_others_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last task waits until somebody was told of one that ended."""
    monkeypatch.setattr(task_watch, "SECONDS_BETWEEN_LOOKS", 0.05)
    told: list[int] = []
    flag = str(tmp_path / "told")

    def wait_at_the_end(item: int, scope: TaskScope) -> bool:
        until = time.monotonic() + 60
        while item == 4 and not os.path.exists(flag) and time.monotonic() < until:
            time.sleep(0.02)
        return item != 4 or os.path.exists(flag)

    def note(steps: int) -> None:
        told.append(steps)
        Path(flag).touch()

    assert all(SparkEngine(spark).run_each(list(range(5)), wait_at_the_end, note))
    assert sum(told) == 5
    assert len(told) > 1


def test_a_worker_costs_little_between_tasks(spark: SparkSession) -> None:
    """It is talked to by a Unix socket, and what it has loaded is no garbage to look through after each task."""

    def look(item: int, scope: TaskScope) -> tuple[str | None, int, int]:
        return os.environ.get("PYTHON_UNIX_DOMAIN_ENABLED"), os.getpid(), gc.get_freeze_count()

    found = SparkEngine(spark).run_each(list(range(8)), look)
    by_socket = {"true"} if HAS_ARROW_UDF else {"none"}  # Spark 4.1 has both
    assert {str(enabled).lower() for enabled, _, _ in found} == by_socket
    assert all(frozen > 10_000 for _, _, frozen in found)
    assert len({pid for _, pid, _ in found}) == len({(pid, frozen) for _, pid, frozen in found})


def test_later_jobs_are_not_of_the_group_of_one_that_is_over(spark: SparkSession) -> None:
    def fail(item: int, scope: TaskScope) -> None:
        raise ValueError("no such piece")

    before = spark.sparkContext.getLocalProperty("spark.jobGroup.id")
    SparkEngine(spark).run_each([1], in_task)
    with pytest.raises(PySparkException, match="no such piece"):
        SparkEngine(spark).run_each([1], fail)
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") == before


@pytest.mark.parametrize("attempt", range(3))
def test_when_a_job_has_failed_none_of_its_tasks_writes_any_more(
    spark: SparkSession, tmp_path: Path, attempt: int
) -> None:
    """Else what the writer takes back would grow again. The job before it and the time that the task takes to fail are
    such that Spark's status tracker still has no task then, mostly.
    """

    def fail_or_write(name: str, scope: TaskScope) -> None:
        if name == "fails":
            time.sleep(0.02)
            raise ValueError(name)
        for number in range(60):
            (tmp_path / f"{name}-{number}").touch()
            time.sleep(0.02)

    SparkEngine(spark).run_each([1, 2], in_task)
    with pytest.raises(Exception, match="fails"):
        SparkEngine(spark).run_each(["late", "fails"], fail_or_write)
    there = len(list(tmp_path.iterdir()))
    time.sleep(0.5)
    assert len(list(tmp_path.iterdir())) == there
