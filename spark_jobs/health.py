"""Entry point: how a table is kept, in this process (spark-submit runs it, plain Python does too)."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.health import HealthOptions
from spark_jobs.services.health.job import run_health

if __name__ == "__main__":
    sys.exit(run_job(run_health, HealthOptions))
