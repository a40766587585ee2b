"""Services that carry their plan out at once, and do exactly the one that a dry run showed when they are asked to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.providers.common.compat.sdk import Context

from airflow_provider_pyhudi.operators.base import HudiJobOperator, given_instant


class HudiPlannedOperator(HudiJobOperator):
    """Base of the operators of such services.

    :param plan_hash: do the plan of which a dry run gave this hash, as ``look.output["extra"]["plan_hash"]``, or fail.
    """

    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "plan_hash")

    def __init__(self, *, plan_hash: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan_hash = plan_hash

    def job_values(self, context: Context) -> dict[str, Any]:
        return {"plan_hash": given_instant(self.plan_hash)}
