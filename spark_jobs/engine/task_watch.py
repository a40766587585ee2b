"""How many tasks of a Spark job are done, reported while it runs; and when none runs any more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_FOR_KILLED_TASKS = 10.0
"""Spark ends a Python worker that does not stop by itself two seconds after its task was killed."""
_SECONDS_BETWEEN_LOOKS_AT_KILLED = 0.05
_GROUP = "spark.jobGroup.id"


@contextmanager
def reporting_tasks(context: SparkContext, tasks: int, steps: int, advance: Callable[[int], Any]) -> Iterator[None]:
    """Tell ``advance`` of the job that this thread runs inside, in so many tasks: how many more of its steps are done,
    as far as its ended tasks tell; of all at a good end.
    """
    group, before = SYSTEM_CLOCK.new_uuid(), context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    over, reported = threading.Event(), 0

    def look() -> None:
        nonlocal reported
        while not over.wait(SECONDS_BETWEEN_LOOKS):
            try:
                done = min(_done(context, group), tasks) * steps // tasks
            except (Py4JError, OSError):
                return  # the JVM is gone, which the thread that runs the job tells
            if done > reported:
                advance(done - reported)
                reported = done

    watcher = threading.Thread(target=look, name="tasks", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        with suppress(Py4JError, OSError):  # of a JVM that is gone
            context.setLocalProperty(_GROUP, cast(str, before))  # None removes it
    advance(steps - reported)


def let_tasks_end(context: SparkContext, clock: Clock = SYSTEM_CLOCK) -> None:
    """Wait after a failed job for its other tasks: Spark reports the failure while they are being killed, and may still
    write. Those of other jobs of the session count too; so the wait is bounded.
    """
    deadline = clock.monotonic() + SECONDS_FOR_KILLED_TASKS
    with suppress(Py4JError, OSError):  # of a JVM that is gone
        while _running(context) and clock.monotonic() < deadline:
            clock.sleep(_SECONDS_BETWEEN_LOOKS_AT_KILLED)


def _running(context: SparkContext) -> int:
    """As the scheduler has it (TaskSchedulerImpl); the status tracker's numbers are those of up to 100 ms ago."""
    by_executor = context._jsc.sc().taskScheduler().runningTasksByExecutors().values().iterator()
    running = 0
    while by_executor.hasNext():
        running += by_executor.next()
    return running


def _done(context: SparkContext, group: str) -> int:
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage)
