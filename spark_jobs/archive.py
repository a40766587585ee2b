"""Entry point: archival of the timeline, in this process."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.archive import ARCHIVAL

if __name__ == "__main__":
    sys.exit(run_job(ARCHIVAL.run, ARCHIVAL.options))
