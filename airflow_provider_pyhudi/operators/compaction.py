"""Log files into base files."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_pyhudi.operators.service import HudiServiceOperator
from spark_jobs.options import CompactionOptions, JobOptions


class HudiCompactionOperator(HudiServiceOperator):
    """Merge the log files of a MERGE_ON_READ table into new base files."""

    options_type: ClassVar[type[JobOptions]] = CompactionOptions
