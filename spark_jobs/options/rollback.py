"""Options of ``rollback.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.choices import EngineKind
from spark_jobs.options.flags import flag
from spark_jobs.options.job import Job
from spark_jobs.options.plan_hash import PlanHashOptions
from spark_jobs.options.running import EngineChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackOptions(PlanHashOptions):
    """Undo one write, or all that dead writers left (``SparkRDDWriteClient.rollback``, ``rollbackFailedWrites``)."""

    job: ClassVar[str] = "rollback"

    instant_time: Annotated[
        str | None,
        flag("--instant-time", help="The write to undo, pending or completed; without it, all that dead writers left."),
    ] = None
    engine: EngineChoice = EngineKind.AUTO


ROLLBACK = Job(
    name="rollback",
    options=RollbackOptions,
    runner="spark_jobs.services.rollback.job:run_rollback",
    operator="HudiRollbackOperator",
)
