"""Entry point: a table and its partitions in a Hive metastore, in this process."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.hive_sync import HIVE_SYNC

if __name__ == "__main__":
    sys.exit(run_job(HIVE_SYNC.run, HIVE_SYNC.options))
