"""Entry point: an empty table, in this process (spark-submit runs it, plain Python does too)."""

from __future__ import annotations

import sys

from spark_jobs.ddl.job import run_create_table
from spark_jobs.engine.job import run_job
from spark_jobs.options.create_table import CreateTableOptions

if __name__ == "__main__":
    sys.exit(run_job(run_create_table, CreateTableOptions))
