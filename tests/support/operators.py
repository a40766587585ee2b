"""Operators that tests run themselves, and what those on a cluster of this machine are given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from tests.java import QUICK

ON_CLUSTER: Final[dict[str, Any]] = {"driver_memory": "512m", "executor_memory": "512m", "engine": "spark"}
QUIET_CLUSTER: Final[dict[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
}
"""Settings of Spark's."""


def execute(operator: Any) -> dict[str, Any]:
    """The result of a task; its context has all that an operator asks for."""
    found: dict[str, Any] = operator.execute({"ti": SimpleNamespace(dag_id="d", task_id="t")})
    return found
