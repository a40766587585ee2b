"""Entry point: archival of the timeline, in this process (spark-submit runs it, plain Python does too)."""

from __future__ import annotations

import sys

from spark_jobs.engine.job import run_job
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.services.archival.job import run_archival

if __name__ == "__main__":
    sys.exit(run_job(run_archival, ArchiveOptions))
