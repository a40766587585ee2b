"""Entry point: restore to a savepoint or a commit. Spark starts when there is much to delete or to read; else plain
Python does as well as spark-submit.
"""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.engine.on_demand import SparkOnDemand
from spark_jobs.engine.progress import Progress
from spark_jobs.options.restore import RestoreOptions
from spark_jobs.options.result import JobResult
from spark_jobs.services.restore.job import run_restore


def main(options: RestoreOptions, progress: Progress) -> JobResult:
    with SparkOnDemand("restore", debug=options.debug, kind=options.engine) as engine:
        return run_restore(options, progress, engine)


if __name__ == "__main__":
    sys.exit(run_job(main, RestoreOptions))
