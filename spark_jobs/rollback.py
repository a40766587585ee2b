"""Entry point: rollback of writes. Spark starts when there is much to delete."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.rollback import ROLLBACK

if __name__ == "__main__":
    sys.exit(run_job(ROLLBACK.run, ROLLBACK.options))
