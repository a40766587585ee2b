"""Entry point: rows from a source into a table."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.ingest import INGEST

if __name__ == "__main__":
    sys.exit(run_job(INGEST.run, INGEST.options, verdict=INGEST.verdict))
