"""Ingest as ``ingest.py`` runs it: rows from a source into a table. Spark starts when there is much to write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spark_jobs.core.errors import ConfigError
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.failure import Failure
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import EngineKind
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.source_packages import packages_for

if TYPE_CHECKING:
    from spark_jobs.core.table import HudiTable
    from spark_jobs.write.config import WriteConfig


def run_ingest(options: IngestOptions, context: JobContext) -> JobResult:
    """Run one ingest, in this process or in a Spark session of its own.

    What is wrong with the table, and that the write is done already, is said before one starts.
    """
    from spark_jobs.hive.job import sync_asked_for
    from spark_jobs.write.config import open_if_there, resolve
    from spark_jobs.write.generation import of_generation

    progress, table = context.progress, open_if_there(options.base_path, context.lake)
    config = resolve(options, table, context.lake)
    synced = sync_asked_for(config.properties)
    config, generation = of_generation(config, table, progress)
    options = replace(options, idempotency_key=config.options.idempotency_key)
    result = _ingest(options, config, table, progress, synced=synced)
    return replace(result, extra={**result.extra, **generation})


def _ingest(
    options: IngestOptions, config: WriteConfig, table: HudiTable | None, progress: Progress, *, synced: bool
) -> JobResult:
    from spark_jobs.hive.job import sync_after_write
    from spark_jobs.write.outcome import done_before

    done = done_before(config, table, progress)
    if table is not None and done is not None:
        return sync_after_write(table, config.properties, done, progress) if synced else done
    from spark_jobs.write.engine_choice import local_ingest

    chosen = local_ingest(config, table)
    if not isinstance(chosen, str):
        return chosen.run(progress)
    if options.engine is EngineKind.AUTO:
        progress.note(f"on Spark: {chosen}")
    from spark_jobs.engine.session import job_session
    from spark_jobs.write.ingest import ingest

    packages = packages_for(options.source_format)
    with job_session("ingest", debug=options.debug, packages=packages) as spark:
        result = ingest(spark, options, progress, lake=config.lake)
    return replace(result, extra={**result.extra, "engine": EngineKind.SPARK.value})


def misfit(result: JobResult) -> Failure | None:
    """How a dry run ends that found a source which does not fit the table: as its write would."""
    plan = result.plan or {}
    if result.state is not JobState.DRY_RUN or plan.get("fits") is not False:
        return None
    return Failure(message=str(result.reason), exit_code=ConfigError.exit_code)
