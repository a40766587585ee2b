"""Entry point: indexes of the metadata table, in this process."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.indexing import INDEXING

if __name__ == "__main__":
    sys.exit(run_job(INDEXING.run, INDEXING.options))
