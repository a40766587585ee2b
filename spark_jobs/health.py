"""Entry point: how a table is kept, in this process."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.health import HEALTH

if __name__ == "__main__":
    sys.exit(run_job(HEALTH.run, HEALTH.options))
