"""Entry point: faults of a table. Spark starts when there is much to read; else plain Python does as well as
spark-submit.
"""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.engine.on_demand import SparkOnDemand
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult
from spark_jobs.options.validate import ValidateOptions
from spark_jobs.services.validation.job import not_sound, run_validation


def main(options: ValidateOptions, progress: Progress) -> JobResult:
    with SparkOnDemand("validate", debug=options.debug, kind=options.engine) as engine:
        return run_validation(options, progress, engine)


if __name__ == "__main__":
    sys.exit(run_job(main, ValidateOptions, verdict=not_sound))
