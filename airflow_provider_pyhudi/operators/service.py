"""What compaction and clustering have in common: a plan is made, a plan is executed, or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.providers.common.compat.sdk import Context

from airflow_provider_pyhudi.operators.base import HudiJobOperator, given_instant
from spark_jobs.options import ServiceMode


class HudiServiceOperator(HudiJobOperator):
    """Base of the operators whose service works in two steps.

    :param mode: ``schedule``, ``execute``, or ``scheduleAndExecute``.
    :param instant_time: the plan to execute, such as ``schedule.output["instant"]`` of the task that made it; without
        it, also when that task had nothing to schedule, the earliest pending plan.
    """

    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "mode", "instant_time")

    def __init__(
        self,
        *,
        mode: str = ServiceMode.SCHEDULE_AND_EXECUTE.value,
        instant_time: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.mode = mode
        self.instant_time = instant_time

    def job_values(self, context: Context) -> dict[str, Any]:
        return {"instant_time": given_instant(self.instant_time)}
