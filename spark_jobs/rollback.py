"""Entry point: rollback of writes. Spark starts when there is much to delete; else plain Python does as well as
spark-submit.
"""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.engine.on_demand import SparkOnDemand
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.services.rollback.job import run_rollback


def main(options: RollbackOptions, progress: Progress) -> JobResult:
    with SparkOnDemand("rollback", debug=options.debug, kind=options.engine) as engine:
        return run_rollback(options, progress, engine)


if __name__ == "__main__":
    sys.exit(run_job(main, RollbackOptions))
