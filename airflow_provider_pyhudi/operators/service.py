"""What compaction and clustering have in common: a plan is made, a plan is executed, or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.providers.common.compat.sdk import Context

from airflow_provider_pyhudi.operators.base import given_instant
from airflow_provider_pyhudi.operators.named_run import named_by_task
from airflow_provider_pyhudi.operators.plan_hash import HudiPlanHashOperator
from spark_jobs.options import EngineKind, ServiceMode


class HudiServiceOperator(HudiPlanHashOperator):
    """Base of the operators whose service works in two steps.

    :param mode: ``schedule``, ``execute``, ``scheduleAndExecute``, or ``cancel``.
    :param instant_time: the plan to execute, such as ``schedule.output["instant"]`` of the task that made it; without
        it, also when that task had nothing to schedule, the earliest pending plan.
    :param max_bytes: bytes of input that the task may take on; the rest stays planned.
    :param max_seconds: begin no work that would take longer.
    :param engine: ``auto``, ``local`` or ``spark``.
    :param idempotency_key: name of the plan that ``schedule`` makes; ``<dag_id>/<task_id>/<run_id>/<map_index>``
        without it, so that a retry finds the plan of the first try. An empty text turns it off.
    """

    attempt: str | None = None
    """Of a task that has no key of its own, said by Airflow."""
    template_fields: Sequence[str] = (*HudiPlanHashOperator.template_fields, "mode", "instant_time", "idempotency_key")

    def __init__(
        self,
        *,
        mode: str = ServiceMode.SCHEDULE_AND_EXECUTE.value,
        instant_time: str | None = None,
        max_bytes: int | None = None,
        max_seconds: int | None = None,
        engine: str = EngineKind.AUTO.value,
        idempotency_key: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.mode = mode
        self.instant_time = instant_time
        self.max_bytes = max_bytes
        self.max_seconds = max_seconds
        self.engine = engine
        self.idempotency_key = idempotency_key

    def job_values(self, context: Context) -> dict[str, Any]:
        named: dict[str, Any] = {"idempotency_key": None}
        if str(self.mode).strip().lower() == ServiceMode.SCHEDULE.value:  # as the option is read
            key = self.idempotency_key
            named = named_by_task(self, context) if key is None else {"idempotency_key": key or None}
        values = super().job_values(context)
        return {**values, "instant_time": given_instant(self.instant_time), **named}
