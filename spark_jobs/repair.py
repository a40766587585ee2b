"""Entry point: mends of what a validation finds. No JVM: plain Python does as well as spark-submit."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.repair import RepairOptions
from spark_jobs.services.repair.job import run_repair

if __name__ == "__main__":
    sys.exit(run_job(run_repair, RepairOptions))
