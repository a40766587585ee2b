"""Options of ``validate.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.base import JobOptions
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.flags import Kind, flag


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions(JobOptions):
    """Look for faults in a table; nothing is changed."""

    job: ClassVar[str] = "validate"

    deep: Annotated[bool, flag("--deep", kind=Kind.SWITCH, help="Read all rows, archived commits and indexes too.")] = (
        False
    )
    strict: Annotated[bool, flag("--strict", kind=Kind.SWITCH, help="Warnings too end the job with 1.")] = False
    overdue_hours: Annotated[
        int,
        flag("--overdue-hours", kind=Kind.INTEGER, help="Hours that an instant may be pending without a heartbeat."),
    ] = 24

    def __post_init__(self) -> None:
        # named with its class, because slots=True makes another class of this one
        JobOptions.__post_init__(self)
        if self.overdue_hours < 0:
            raise OptionsError(f"--overdue-hours={self.overdue_hours} is not valid: give 0 or more")
