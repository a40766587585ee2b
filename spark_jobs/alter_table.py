"""Entry point: other columns for a table, in this process."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.alter_table import ALTER_TABLE

if __name__ == "__main__":
    sys.exit(run_job(ALTER_TABLE.run, ALTER_TABLE.options))
