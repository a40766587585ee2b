"""What the tasks of Spark and who starts them share: their attempt, their outcomes as text, settings for their time."""

from __future__ import annotations

import base64
import gc
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.handles.context import TaskScope


def to_text(outcome: Any) -> str:
    """What a task gives back, as a value of a text column."""
    return base64.b64encode(pickle.dumps(outcome)).decode()


def from_text(text: str) -> Any:
    """What :func:`to_text` was given."""
    return pickle.loads(base64.b64decode(text))


def freeze_loaded() -> None:
    """Called as a task begins: a worker looks for garbage after each, from now on not among what it has loaded, some
    80,000 objects, which took longer than the task of a small file.
    """
    if not gc.get_freeze_count():
        gc.freeze()


def task_scope() -> TaskScope:
    """The attempt that this Python worker runs now; asked once in it."""
    freeze_loaded()
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("task_scope() was called outside of a Spark task")
    return TaskScope.of_attempt(context.partitionId(), SYSTEM_CLOCK)


@contextmanager
def session_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings for the time of some work, put back at its end."""
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is not None:
                spark.conf.set(name, old)
