"""A write without Spark by the name of its task, as ingest.py does it; `hoodie.probe` says what happens after it."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.job import run_job
from spark_jobs.options import IngestOptions, JobResult, JobState
from spark_jobs.write.config import resolve
from spark_jobs.write.generation import of_generation
from spark_jobs.write.outcome import done_before
from tests.faults import local_table as local


def body(options: IngestOptions, context: JobContext) -> JobResult:
    asked = options.hoodie_properties()
    table = HudiTable.open(options.base_path, lake=context.lake)
    config, generation = of_generation(resolve(options, table, context.lake), table, context.progress)
    done = done_before(config, table, context.progress)
    if done is not None:
        return replace(done, extra={**done.extra, **generation})
    rows = local.batch(0, 2, asked["hoodie.probe.value"], 1)
    key = str(config.options.idempotency_key)
    instant = local.write(Path(options.base_path), rows, key, str(options.attempt))
    if asked["hoodie.probe"] == "kill":
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    if asked["hoodie.probe"] == "fail":
        raise WriteConflictError("what follows the commit failed", todo="run it again")
    return JobResult(action="commit", state=JobState.COMPLETED, instant=instant, inserts=2, extra={**generation})


if __name__ == "__main__":
    sys.exit(run_job(body, IngestOptions))
