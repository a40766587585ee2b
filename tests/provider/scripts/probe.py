"""A job that does what `hoodie.probe` says; the words and the result are those of the real jobs."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.job import run_job
from spark_jobs.options import CompactionOptions, IngestOptions, JobOptions, JobResult, JobState


def count_rows() -> int:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    rows = spark.range(1000).count()
    spark.stop()
    return rows


def conflict_in_a_worker() -> int:
    from pyspark.sql import SparkSession

    def fail(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows:
                raise WriteConflictError("file group f-1 was changed", todo="run it again")
            yield batch

    spark = SparkSession.builder.getOrCreate()
    return spark.range(10).mapInArrow(fail, "id long").count()


def wait_for_a_worker(marker: str) -> int:
    from pyspark.sql import SparkSession

    def wait(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            Path(f"{marker}.started").touch()
            time.sleep(120)
            yield batch

    try:
        spark = SparkSession.builder.getOrCreate()
        return spark.range(1).mapInArrow(wait, "id long").count()
    finally:
        Path(marker).write_text("released")


def body(options: JobOptions, context: JobContext) -> JobResult:
    what = options.hoodie_properties().get("hoodie.probe")
    extra: dict[str, Any] = {"python": sys.executable, "home": os.environ.get("SPARK_HOME")}
    if isinstance(options, IngestOptions | CompactionOptions):
        extra["idempotency_key"] = options.idempotency_key
    if isinstance(options, IngestOptions):
        extra["source"] = list(options.source)
    with context.progress.phase("probe"):
        if what == "count":
            return JobResult(
                action="commit",
                state=JobState.COMPLETED,
                instant="20240101000000001",
                records_out=count_rows(),
                extra=extra,
            )
        if what == "conflict":
            conflict_in_a_worker()
        if what == "wait":
            wait_for_a_worker(f"{options.base_path}/marker")
        if what == "bad":
            raise ConfigError("hoodie.probe=bad is not valid", todo="give another")
        if what == "repeated":
            return JobResult(
                action="commit",
                state=JobState.COMPLETED,
                instant="20240101000000003",
                repeated=True,
                reason="instant 20240101000000003 already did this write",
            )
        if what == "nothing":
            return JobResult(action="commit", state=JobState.NOTHING_TO_DO, reason="no log files")
    if options.dry_run:
        return JobResult(action="commit", state=JobState.DRY_RUN, plan={"hash": "h"})
    if isinstance(options, CompactionOptions) and options.mode == "execute":
        extra["executed"] = options.instant_time
        return JobResult(action="commit", state=JobState.COMPLETED, instant=options.instant_time, extra=extra)
    return JobResult(action="compaction", state=JobState.SCHEDULED, instant="20240101000000002", extra=extra)


if __name__ == "__main__":
    compacting = any(word.startswith("--mode") for word in sys.argv)
    sys.exit(run_job(body, CompactionOptions if compacting else IngestOptions))
