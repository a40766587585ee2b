"""Options of ``archive.py``; what stays on the active timeline is said by ``hoodie.keep.*`` properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spark_jobs.options.job import Job
from spark_jobs.options.plan_hash import PlanHashOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveOptions(PlanHashOptions):
    """Move old instants from the active timeline to the archive (``HoodieTimelineArchiver``)."""

    job: ClassVar[str] = "archive"


ARCHIVAL = Job(
    name="archival",
    options=ArchiveOptions,
    runner="spark_jobs.services.archival.job:run_archival",
    operator="HudiArchiveOperator",
)
