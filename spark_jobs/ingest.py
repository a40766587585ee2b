"""spark-submit entry point: rows from a source into a table."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.job import misfit, run_ingest

if __name__ == "__main__":
    sys.exit(run_job(run_ingest, IngestOptions, verdict=misfit))
