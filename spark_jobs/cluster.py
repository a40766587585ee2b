"""Entry point: clustering, planned, executed, or both. Spark starts when there is much to rewrite."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.service import CLUSTERING

if __name__ == "__main__":
    sys.exit(run_job(CLUSTERING.run, CLUSTERING.options))
