"""File slices that no retained commit needs, deleted."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.plan_hash import HudiPlanHashOperator
from spark_jobs.options import CleanOptions, EngineKind, JobOptions


class HudiCleanOperator(HudiPlanHashOperator):
    """Delete old file slices; the policy and what it retains stand in ``hoodie.cleaner.*``.

    :param max_bytes: bytes of files that the task may delete; the rest is left for the next one.
    :param max_seconds: begin no work that would take longer.
    :param engine: ``auto``, ``local`` or ``spark``.
    """

    options_type: ClassVar[type[JobOptions]] = CleanOptions

    def __init__(
        self,
        *,
        max_bytes: int | None = None,
        max_seconds: int | None = None,
        engine: str = EngineKind.AUTO.value,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.max_bytes = max_bytes
        self.max_seconds = max_seconds
        self.engine = engine
