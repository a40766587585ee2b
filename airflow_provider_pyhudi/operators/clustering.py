"""Small or unsorted base files into larger, sorted ones."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_pyhudi.operators.service import HudiServiceOperator
from spark_jobs.options import ClusteringOptions, JobOptions


class HudiClusteringOperator(HudiServiceOperator):
    """Rewrite base files by size and sort order; the plan's strategy stands in ``hoodie.clustering.plan.*``."""

    options_type: ClassVar[type[JobOptions]] = ClusteringOptions
