"""spark-submit entry point: clustering, planned, executed, or both."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import ClusteringOptions


def main(options: ClusteringOptions, progress: Progress) -> JobResult:
    """Run one clustering; Spark starts when there is much to rewrite."""
    from spark_jobs.engine.on_demand import SparkOnDemand
    from spark_jobs.services.clustering.job import run_clustering

    with SparkOnDemand("clustering", debug=options.debug, kind=options.engine) as engine:
        return run_clustering(engine, options, progress)


if __name__ == "__main__":
    sys.exit(run_job(main, ClusteringOptions))
