"""Entry point: mends of what a validation finds, in this process."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.repair import REPAIR

if __name__ == "__main__":
    sys.exit(run_job(REPAIR.run, REPAIR.options))
