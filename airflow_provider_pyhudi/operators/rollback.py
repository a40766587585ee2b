"""A write undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import Context

from airflow_provider_pyhudi.operators.base import given_instant
from airflow_provider_pyhudi.operators.plan_hash import HudiPlanHashOperator
from spark_jobs.options import EngineKind, JobOptions, OptionsError, RollbackOptions


class HudiRollbackOperator(HudiPlanHashOperator):
    """Undo one write, or all that dead writers left.

    :param instant_time: the write to undo, pending or completed; without it, what writers left whose heartbeat lapsed.
        A template that comes to nothing is an error, not the latter.
    :param engine: ``auto``, ``local`` or ``spark``.
    """

    options_type: ClassVar[type[JobOptions]] = RollbackOptions
    template_fields: Sequence[str] = (*HudiPlanHashOperator.template_fields, "instant_time")

    def __init__(self, *, instant_time: str | None = None, engine: str = EngineKind.AUTO.value, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instant_time = instant_time
        self.engine = engine
        self.undoes_one = instant_time is not None

    def job_values(self, context: Context) -> dict[str, Any]:
        """
        :raises OptionsError: the task was given an instant, and what it was given came to nothing.
        """
        instant = given_instant(self.instant_time)
        if self.undoes_one and instant is None:
            raise OptionsError("instant_time came to nothing: there is no write to undo")
        return {**super().job_values(context), "instant_time": instant}
