"""What a test gives to a job beside its options."""

from __future__ import annotations

from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine


def job_context(
    progress: Progress | None = None, *, engine: Engine | None = None, lake: Lake | None = None
) -> JobContext:
    """Without a word, in this process, on local paths, as far as nothing else is given."""
    lake = lake or LAKE
    return JobContext(
        lake=lake, progress=progress or Progress.silent("test", lake.clock), engine=engine or LocalEngine(lake.clock)
    )
