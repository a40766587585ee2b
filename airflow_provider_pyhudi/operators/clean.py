"""File slices that no retained commit needs, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import Context

from airflow_provider_pyhudi.operators.base import HudiJobOperator, given_instant
from spark_jobs.options import CleanOptions, JobOptions


class HudiCleanOperator(HudiJobOperator):
    """Delete old file slices; the policy and what it retains stand in ``hoodie.cleaner.*``.

    :param plan_hash: do the plan of which a dry run gave this hash, as ``look.output["extra"]["plan_hash"]``, or fail.
    """

    options_type: ClassVar[type[JobOptions]] = CleanOptions
    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "plan_hash")

    def __init__(self, *, plan_hash: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan_hash = plan_hash

    def job_values(self, context: Context) -> dict[str, Any]:
        return {"plan_hash": given_instant(self.plan_hash)}
