"""Options of ``validate.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.base import JobOptions
from spark_jobs.options.choices import EngineKind
from spark_jobs.options.flags import Kind, flag
from spark_jobs.options.job import Job
from spark_jobs.options.overdue import OverdueHours
from spark_jobs.options.running import EngineChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions(JobOptions):
    """Look for faults in a table; nothing is changed."""

    job: ClassVar[str] = "validate"

    deep: Annotated[bool, flag("--deep", kind=Kind.SWITCH, help="Read all rows, archived commits and indexes too.")] = (
        False
    )
    strict: Annotated[bool, flag("--strict", kind=Kind.SWITCH, help="Warnings too end the job with 1.")] = False
    overdue_hours: OverdueHours = 24
    engine: EngineChoice = EngineKind.AUTO


VALIDATION = Job(
    name="validation",
    options=ValidateOptions,
    runner="spark_jobs.services.validation.job:run_validation",
    operator="HudiValidateOperator",
    judge="spark_jobs.services.validation.job:not_sound",
)
