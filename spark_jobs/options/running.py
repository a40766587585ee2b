"""Options of how a service runs: who does the work, and for how long."""

from __future__ import annotations

from typing import Annotated

from spark_jobs.options.choices import EngineKind
from spark_jobs.options.flags import Kind, flag

EngineChoice = Annotated[
    EngineKind, flag("--engine", choices=EngineKind, help="In this process, on Spark, or by the size of the plan.")
]
MaxSeconds = Annotated[
    int | None,
    flag("--max-seconds", kind=Kind.INTEGER, help="Begin no work that would take longer, from the job's start."),
]
