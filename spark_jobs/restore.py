"""Entry point: restore to a savepoint or a commit. Spark starts when there is much to delete or to read."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.restore import RESTORE

if __name__ == "__main__":
    sys.exit(run_job(RESTORE.run, RESTORE.options))
