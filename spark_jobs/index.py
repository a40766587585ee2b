"""Entry point: indexes of the metadata table, in this process (spark-submit runs it, plain Python does too)."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.indexing import IndexingOptions
from spark_jobs.services.indexing.job import run_indexing

if __name__ == "__main__":
    sys.exit(run_job(run_indexing, IndexingOptions))
