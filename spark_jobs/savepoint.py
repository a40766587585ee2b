"""Entry point: savepoints, in this process (spark-submit runs it, plain Python does too)."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.savepoint import SavepointOptions
from spark_jobs.services.savepoint.job import run_savepoint

if __name__ == "__main__":
    sys.exit(run_job(run_savepoint, SavepointOptions))
