"""Old instants into the archive."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_pyhudi.operators.plan_hash import HudiPlanHashOperator
from spark_jobs.options import ArchiveOptions, JobOptions


class HudiArchiveOperator(HudiPlanHashOperator):
    """Move old instants from the active timeline to the archive; how many stay stands in ``hoodie.keep.*``."""

    options_type: ClassVar[type[JobOptions]] = ArchiveOptions
