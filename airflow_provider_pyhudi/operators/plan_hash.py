"""Services that carry their plan out at once, and do exactly the one that a dry run showed when they are asked to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException, Context

from airflow_provider_pyhudi.operators.base import HudiJobOperator, given_instant

NO_ARGUMENT: Any = object()
"""The default of an argument whose None means something."""


class HudiPlanHashOperator(HudiJobOperator):
    """Base of the operators of such services.

    :param plan_hash: do the plan of which a dry run gave this hash, as ``look.output["extra"]["plan_hash"]``, or fail.
        Where it was given and comes to nothing, because the dry run had nothing to do, the task is skipped: no plan was
        looked at, so none is carried out.
    """

    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "plan_hash")

    def __init__(self, *, plan_hash: str | None = NO_ARGUMENT, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # None is a value that was given: a mapped task gets what its dry run returned
        self.goes_by_hash = plan_hash is not NO_ARGUMENT
        self.plan_hash = plan_hash if self.goes_by_hash else None

    def job_values(self, context: Context) -> dict[str, Any]:
        """
        :raises AirflowSkipException: the task was given a hash, and what it was given came to nothing.
        """
        plan_hash = given_instant(self.plan_hash)
        if self.goes_by_hash and plan_hash is None:
            raise AirflowSkipException("plan_hash came to nothing: no dry run showed a plan, so none is carried out")
        return {"plan_hash": plan_hash}
