"""What a job is given beside its options."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.lake import Lake
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """Made at the edge, by ``run_job`` or by whoever runs a job inside a process of its own.

    Each job is a function ``run_...(options, context) -> JobResult``: it opens tables and files in ``lake``, reports to
    ``progress``, and gives its pieces of work to ``engine``. The engine of an entry point starts Spark when the first
    pieces need it, and not before.
    """

    lake: Lake
    progress: Progress
    engine: Engine

    @classmethod
    def of_process(cls, lake: Lake, progress: Progress) -> JobContext:
        """One whose work this process does."""
        return cls(lake=lake, progress=progress, engine=LocalEngine(lake.clock))
