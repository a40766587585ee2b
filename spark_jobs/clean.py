"""Entry point: cleaning. Spark starts when there is much to delete; else plain Python does as well as spark-submit."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.engine.on_demand import SparkOnDemand
from spark_jobs.engine.progress import Progress
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.result import JobResult
from spark_jobs.services.cleaning.job import run_cleaning


def main(options: CleanOptions, progress: Progress) -> JobResult:
    with SparkOnDemand("clean", debug=options.debug, kind=options.engine) as engine:
        return run_cleaning(options, progress, engine)


if __name__ == "__main__":
    sys.exit(run_job(main, CleanOptions))
