"""Entry point: faults of a table. Spark starts when there is much to read."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.validate import VALIDATION

if __name__ == "__main__":
    sys.exit(run_job(VALIDATION.run, VALIDATION.options, verdict=VALIDATION.verdict))
