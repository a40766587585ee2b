"""Entry point: a table and its partitions in a Hive metastore (spark-submit runs it, plain Python does too)."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.hive.job import run_hive_sync
from spark_jobs.options.hive_sync import HiveSyncOptions

if __name__ == "__main__":
    sys.exit(run_job(run_hive_sync, HiveSyncOptions))
