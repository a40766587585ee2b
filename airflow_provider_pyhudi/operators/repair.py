"""Mends of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.planned import HudiPlannedOperator
from spark_jobs.options import JobOptions, RepairOptions


class HudiRepairOperator(HudiPlannedOperator):
    """Mend what a validation finds, and only that; a dry run shows it, and ``plan_hash`` does exactly what one showed.

    :param only: some of ``leftovers``, ``metadata-table``, ``doubled-keys``, ``logs``; the first two without it.
    """

    options_type: ClassVar[type[JobOptions]] = RepairOptions
    template_fields: Sequence[str] = (*HudiPlannedOperator.template_fields, "only")

    def __init__(self, *, only: str | Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.only = only
