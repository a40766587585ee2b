"""Entry point: a table over Parquet files that are there. Spark starts when there is much to read."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.bootstrap import BOOTSTRAP

if __name__ == "__main__":
    sys.exit(run_job(BOOTSTRAP.run, BOOTSTRAP.options))
