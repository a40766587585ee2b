"""spark-submit entry point: clustering, planned, executed, or both."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import ClusteringOptions


def main(options: ClusteringOptions, progress: Progress) -> JobResult:
    """Run one clustering; a plan alone needs no Spark session."""
    from spark_jobs.core.clock import SYSTEM_CLOCK
    from spark_jobs.engine.local import LocalEngine
    from spark_jobs.services.clustering.job import run_clustering

    if options.mode is ServiceMode.SCHEDULE or options.dry_run:
        return run_clustering(LocalEngine(SYSTEM_CLOCK), options, progress)
    from spark_jobs.engine.session import job_session
    from spark_jobs.engine.spark import SparkEngine

    with job_session("clustering", debug=options.debug) as spark:
        return run_clustering(SparkEngine(spark), options, progress)


if __name__ == "__main__":
    sys.exit(run_job(main, ClusteringOptions))
