"""Entry point: cleaning. Spark starts when there is much to delete; else plain Python does as well as spark-submit."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.clean import CleanOptions
from spark_jobs.services.cleaning.job import run_cleaning

if __name__ == "__main__":
    sys.exit(run_job(run_cleaning, CleanOptions))
