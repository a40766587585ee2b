"""Entry point: savepoints, in this process."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.savepoint import SAVEPOINT

if __name__ == "__main__":
    sys.exit(run_job(SAVEPOINT.run, SAVEPOINT.options))
