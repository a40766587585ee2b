"""spark-submit entry point: compaction, planned, executed, or both."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult
from spark_jobs.options.service import CompactionOptions


def main(options: CompactionOptions, progress: Progress) -> JobResult:
    """Run one compaction; Spark starts when there is much to rewrite."""
    from spark_jobs.engine.on_demand import SparkOnDemand
    from spark_jobs.services.compaction.job import run_compaction

    with SparkOnDemand("compaction", debug=options.debug, kind=options.engine) as engine:
        return run_compaction(engine, options, progress)


if __name__ == "__main__":
    sys.exit(run_job(main, CompactionOptions))
