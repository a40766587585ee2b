"""File slices that no retained commit needs, deleted."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_pyhudi.operators.planned import HudiPlannedOperator
from spark_jobs.options import CleanOptions, JobOptions


class HudiCleanOperator(HudiPlannedOperator):
    """Delete old file slices; the policy and what it retains stand in ``hoodie.cleaner.*``."""

    options_type: ClassVar[type[JobOptions]] = CleanOptions
