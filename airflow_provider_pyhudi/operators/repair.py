"""Mends of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.plan_hash import HudiPlanHashOperator
from spark_jobs.options import JobOptions, RepairOptions


class HudiRepairOperator(HudiPlanHashOperator):
    """Mend what a validation finds, and only that; a dry run shows it, and ``plan_hash`` does exactly what one showed.

    :param only: some of ``leftovers``, ``metadata-table``, ``doubled-keys``, ``logs``; the first two without it.
    """

    options_type: ClassVar[type[JobOptions]] = RepairOptions
    template_fields: Sequence[str] = (*HudiPlanHashOperator.template_fields, "only")

    def __init__(self, *, only: str | Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.only = only
