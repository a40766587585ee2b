"""How many tasks of a Spark job are done, told while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext

from spark_jobs.core.clock import SYSTEM_CLOCK

SECONDS_BETWEEN_LOOKS = 0.5
_GROUP = "spark.jobGroup.id"


@contextmanager
def told_of_tasks(context: SparkContext, tasks: int, steps: int, advance: Callable[[int], Any]) -> Iterator[None]:
    """Tell ``advance`` of the job that this thread runs inside, in so many tasks: how many more of its steps are done,
    as far as its ended tasks tell; of all at a good end.
    """
    group, before = SYSTEM_CLOCK.new_uuid(), context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    over, told = threading.Event(), 0

    def look() -> None:
        nonlocal told
        while not over.wait(SECONDS_BETWEEN_LOOKS):
            try:
                done = min(_done(context, group), tasks) * steps // tasks
            except (Py4JError, OSError):
                return  # the JVM is gone, which the thread that runs the job tells
            if done > told:
                advance(done - told)
                told = done

    watcher = threading.Thread(target=look, name="tasks", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        with suppress(Py4JError, OSError):  # of a JVM that is gone
            context.setLocalProperty(_GROUP, cast(str, before))  # None removes it
    advance(steps - told)


def _done(context: SparkContext, group: str) -> int:
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage)
