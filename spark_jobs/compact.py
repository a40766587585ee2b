"""spark-submit entry point: compaction, planned, executed, or both."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import CompactionOptions


def main(options: CompactionOptions, progress: Progress) -> JobResult:
    """Run one compaction; a plan alone needs no Spark session."""
    from spark_jobs.core.clock import SYSTEM_CLOCK
    from spark_jobs.engine.local import LocalEngine
    from spark_jobs.services.compaction.job import run_compaction

    if options.mode is ServiceMode.SCHEDULE or options.dry_run:
        return run_compaction(LocalEngine(SYSTEM_CLOCK), options, progress)
    from spark_jobs.engine.session import job_session
    from spark_jobs.engine.spark import SparkEngine

    with job_session("compaction", debug=options.debug) as spark:
        return run_compaction(SparkEngine(spark), options, progress)


if __name__ == "__main__":
    sys.exit(run_job(main, CompactionOptions))
