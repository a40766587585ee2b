"""Indexes of the metadata table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import Context

from airflow_provider_pyhudi.operators.base import HudiJobOperator, given_instant
from spark_jobs.options import IndexingMode, IndexingOptions, JobOptions


class HudiIndexingOperator(HudiJobOperator):
    """Make indexes of the metadata table beside running writers, or drop them.

    :param mode: ``schedule``, ``execute``, ``scheduleAndExecute`` or ``dropindex``.
    :param index_types: ``COLUMN_STATS``, ``BLOOM_FILTERS``, ``RECORD_INDEX``; an execution takes those of its plan.
    :param instant_time: the plan to execute; without it, the earliest.
    """

    options_type: ClassVar[type[JobOptions]] = IndexingOptions
    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "mode", "index_types", "instant_time")

    def __init__(
        self,
        *,
        mode: str = IndexingMode.SCHEDULE_AND_EXECUTE.value,
        index_types: str | Sequence[str] = (),
        instant_time: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.mode = mode
        self.index_types = index_types
        self.instant_time = instant_time

    def job_values(self, context: Context) -> dict[str, Any]:
        return {"instant_time": given_instant(self.instant_time)}
