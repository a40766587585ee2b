"""Faults of a table."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.base import HudiJobOperator
from spark_jobs.options import EngineKind, JobOptions, ValidateOptions


class HudiValidateOperator(HudiJobOperator):
    """Look for faults in a table, and fail where there are some; nothing is changed.

    :param deep: read all rows, archived commits and indexes too.
    :param strict: fail where there are warnings, too.
    :param overdue_hours: hours that an instant may be pending without a heartbeat.
    :param engine: ``auto``, ``local`` or ``spark``.
    """

    options_type: ClassVar[type[JobOptions]] = ValidateOptions

    def __init__(
        self,
        *,
        deep: bool = False,
        strict: bool = False,
        overdue_hours: int = 24,
        engine: str = EngineKind.AUTO.value,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.deep = deep
        self.strict = strict
        self.overdue_hours = overdue_hours
        self.engine = engine
