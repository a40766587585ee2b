"""The job ``hive_sync.py`` and the sync after a write: options in, result out. No JVM is involved."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from spark_jobs.core.config.keys.hive_sync import ENABLE
from spark_jobs.core.config.keys.meta_sync import HIVE_SYNC_TOOL, META_SYNC_ENABLE, META_SYNC_TOOLS
from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.errors import ConfigError, HudiError
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.in_steps import run_in_steps
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import open_table
from spark_jobs.hive.config import SyncConfig, connect
from spark_jobs.hive.sync import ACTION, HiveSync
from spark_jobs.options import HiveSyncOptions, JobResult


def run_hive_sync(options: HiveSyncOptions, context: JobContext) -> JobResult:
    """The body of ``hive_sync.py``.

    :raises TableNotFoundError, ConfigError, MetastoreUnreachableError, MetastoreError: see their docstrings.
    """
    progress, properties = context.progress, options.hoodie_properties()
    progress.warn(*unknown_key_warnings(properties))
    table = open_table(options, context.lake)
    return sync_table(table, properties, progress, dry_run=options.dry_run)


def sync_table(
    table: HudiTable, properties: Mapping[str, str], progress: Progress, *, dry_run: bool = False
) -> JobResult:
    """Sync an open table by the keys of Hive sync in ``properties``; see :class:`SyncConfig`.

    With ``hoodie.datasource.hive_sync.ignore_exceptions`` a failure is a note in the log and the result's reason.
    """
    config = SyncConfig.of(properties)
    try:
        with connect(config) as metastore:
            service = HiveSync(config=config, metastore=metastore, progress=progress)
            return run_in_steps(service, table, progress, dry_run=dry_run)
    except HudiError as error:
        if not config.ignore_exceptions:
            raise
        progress.warn(f"not synced, and ignored as asked for: {error}")
        return Nothing(f"not synced: {error}").result(ACTION, table)


def sync_asked_for(properties: Mapping[str, str]) -> bool:
    """Whether a write is to be followed by a sync.

    Hudi: HoodieSparkSqlWriter, where a sync with Hive is one by the tools that are named, too.

    :raises ConfigError: it is, by values that are not valid, or by a tool that is not served.
    """
    if not ENABLE.of(properties) and not META_SYNC_ENABLE.of(properties):
        return False
    others = [tool for tool in META_SYNC_TOOLS.of(properties) if tool != HIVE_SYNC_TOOL]
    if others:
        raise ConfigError(
            f"{META_SYNC_TOOLS.name}={others[0]} is not served: its catalog would not know what is written",
            todo=f"give {HIVE_SYNC_TOOL}, or leave the key out, and run that tool of Hudi's after the write",
            key=META_SYNC_TOOLS.name,
            value=others[0],
        )
    SyncConfig.of(properties)
    return True


def sync_after_write(
    table: HudiTable, properties: Mapping[str, str], written: JobResult, progress: Progress
) -> JobResult:
    """The result of a write with that of the sync which follows it, also when an earlier run wrote: that run may have
    failed at its sync.

    :raises HudiError: the sync failed; what was written stays.
    """
    try:
        synced = sync_table(table, properties, progress)
    except HudiError as error:
        raise error.behind(f"{written.instant} is committed, but not synced") from error
    extra = {**written.extra, "sync": {"state": str(synced.state), "reason": synced.reason}}
    return dataclasses.replace(written, extra=extra)
