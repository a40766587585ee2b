"""Log files into base files."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.service import HudiServiceOperator
from spark_jobs.options import CompactionOptions, JobOptions


class HudiCompactionOperator(HudiServiceOperator):
    """Merge the log files of a MERGE_ON_READ table into new base files.

    :param log_compaction: merge the blocks of logs into one block instead.
    """

    options_type: ClassVar[type[JobOptions]] = CompactionOptions

    def __init__(self, *, log_compaction: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.log_compaction = log_compaction
