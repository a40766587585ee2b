"""Entry point: cleaning. Spark starts when there is much to delete."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.clean import CLEANING

if __name__ == "__main__":
    sys.exit(run_job(CLEANING.run, CLEANING.options))
