"""Options of ``clean.py``; the policy and what it retains stand in ``hoodie.clean*`` properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.choices import EngineKind
from spark_jobs.options.flags import Kind, flag
from spark_jobs.options.job import Job
from spark_jobs.options.plan_hash import PlanHashOptions
from spark_jobs.options.running import EngineChoice, MaxSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanOptions(PlanHashOptions):
    """Delete file slices that no retained commit needs (``HoodieCleaner``)."""

    job: ClassVar[str] = "clean"

    max_bytes: Annotated[
        int | None,
        flag("--max-bytes", kind=Kind.INTEGER, help="Bytes of files to delete; what is more is left for a later run."),
    ] = None
    max_seconds: MaxSeconds = None
    engine: EngineChoice = EngineKind.AUTO


CLEANING = Job(
    name="cleaning",
    options=CleanOptions,
    runner="spark_jobs.services.cleaning.job:run_cleaning",
    operator="HudiCleanOperator",
    sensor="clean",
)
