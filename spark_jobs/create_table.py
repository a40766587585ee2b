"""Entry point: an empty table, in this process."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.create_table import CREATE_TABLE

if __name__ == "__main__":
    sys.exit(run_job(CREATE_TABLE.run, CREATE_TABLE.options))
