"""Entry point: rollback of writes. Spark starts when there is much to delete."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.services.rollback.job import run_rollback

if __name__ == "__main__":
    sys.exit(run_job(run_rollback, RollbackOptions))
