"""Options of ``health.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.base import JobOptions
from spark_jobs.options.flags import Kind, flag
from spark_jobs.options.job import Job
from spark_jobs.options.overdue import OverdueHours


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthOptions(JobOptions):
    """Measure how a table is kept; nothing is changed. The ``hoodie.*`` properties decide when services are due."""

    job: ClassVar[str] = "health"

    json: Annotated[bool, flag("--json", kind=Kind.SWITCH, help="The result alone, without the report in text.")] = (
        False
    )
    picture: Annotated[str | None, flag("--picture", help="Path or URL of an SVG file that gets a picture.")] = None
    footers: Annotated[
        bool, flag("--footers", kind=Kind.SWITCH, help="Read the footers of the base files, to count rows.")
    ] = False
    list_storage: Annotated[
        bool,
        flag("--list-storage", kind=Kind.SWITCH, help="List the storage also where a metadata table lists the files."),
    ] = False
    overdue_hours: OverdueHours = 24


HEALTH = Job(
    name="health",
    options=HealthOptions,
    runner="spark_jobs.services.health.job:run_health",
    operator="HudiHealthOperator",
)
