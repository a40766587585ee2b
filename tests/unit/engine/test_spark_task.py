"""What a task of Spark knows of itself."""

from __future__ import annotations

import pytest
from pyspark import TaskContext

from spark_jobs.engine.spark_task import task_scope

pytestmark = pytest.mark.unit


class Again:
    """What a task sees in each of two applications that do the same."""

    def partitionId(self) -> int:  # noqa: N802
        return 3

    def stageId(self) -> int:  # noqa: N802
        return 5

    def taskAttemptId(self) -> int:  # noqa: N802
        return 7


def test_attempts_of_two_applications_have_other_write_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskContext, "get", staticmethod(Again))
    first, second = task_scope(), task_scope()
    assert (first.task, second.task) == (3, 3)
    assert first.write_token != second.write_token
