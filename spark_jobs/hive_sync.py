"""``spark-submit hive_sync.py``, or plain ``python``: register a table and its partitions in a Hive metastore."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.hive.job import hive_sync
from spark_jobs.options import HiveSyncOptions


def main() -> int:
    """The exit code of the job."""
    return run_job(hive_sync, HiveSyncOptions)


if __name__ == "__main__":
    sys.exit(main())
