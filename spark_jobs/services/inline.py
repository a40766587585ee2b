"""Compaction and clustering inside a writer, after its commit, where the configuration asks for it (Hudi:
BaseHoodieTableServiceClient.runTableServicesInline). By default they are jobs of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from spark_jobs.core.config.keys import clustering as clustering_keys
from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.instant import Instant
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.failure import failure_of
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.clustering.job import ClusteringService, run_clustering
from spark_jobs.services.compaction.job import CompactionService, run_compaction

_COMPACTION = "compaction"


def run_inline_services(engine: Engine, table: HudiTable, properties: Mapping[str, str], progress: Progress) -> None:
    """Plan, or plan and execute, what is due; the caller holds no lock.

    The commit before it stands already: what fails here is told, and left to the next one.
    """
    context = JobContext(lake=table.lake, progress=progress, engine=engine)
    for name, mode, run in _wanted(table, properties, context):
        try:
            if mode is ServiceMode.SCHEDULE and (waiting := _waiting(name, table.refreshed(), properties)):
                # with another plan after each write, plans would pile up until somebody executes them
                progress.note(f"no {name} after the commit: {name} {waiting[0].timestamp} is planned already")
                continue
            result = run()
        except Exception as error:  # whatever ends it, the commit before it stands
            progress.note(f"{name} after the commit failed ({failure_of(error).message}); the next commit tries again")
            continue
        if result.state is JobState.NOTHING_TO_DO:
            progress.note(f"no {name} after the commit: {result.reason}")
        else:
            progress.note(f"{name} {result.instant} after the commit: {result.state.value}")


def _wanted(
    table: HudiTable, properties: Mapping[str, str], context: JobContext
) -> list[tuple[str, ServiceMode, Callable[[], JobResult]]]:
    conf = {name: value for name, value in properties.items() if name.startswith(("hoodie.", "parquet."))}
    found: list[tuple[str, ServiceMode, Callable[[], JobResult]]] = []
    if not table_keys.TABLE_SERVICES.of(properties):
        return found
    if table.config.is_merge_on_read:
        mode = _mode(
            runs=compact_keys.COMPACT_INLINE.of(properties), plans=compact_keys.COMPACT_SCHEDULE_INLINE.of(properties)
        )
        if mode is not None:
            compaction = CompactionOptions(base_path=table.url, hoodie_conf=conf, mode=mode)
            found.append((_COMPACTION, mode, partial(run_compaction, compaction, context)))
        if compact_keys.LOG_COMPACT_INLINE.of(properties):
            logs = CompactionOptions(base_path=table.url, hoodie_conf=conf, log_compaction=True)
            found.append(("log compaction", logs.mode, partial(run_compaction, logs, context)))
    mode = _mode(
        runs=clustering_keys.CLUSTER_INLINE.of(properties), plans=clustering_keys.CLUSTER_SCHEDULE_INLINE.of(properties)
    )
    if mode is not None:
        clustering = ClusteringOptions(base_path=table.url, hoodie_conf=conf, mode=mode)
        found.append(("clustering", mode, partial(run_clustering, clustering, context)))
    return found


def _waiting(name: str, table: HudiTable, properties: Mapping[str, str]) -> list[Instant]:
    """Pending plans: a write that is only to plan makes none beside them (Hudi: the same)."""
    service = CompactionService(properties) if name == _COMPACTION else ClusteringService(properties)
    return service.pending(table)


def _mode(*, runs: bool, plans: bool) -> ServiceMode | None:
    if runs:
        return ServiceMode.SCHEDULE_AND_EXECUTE
    return ServiceMode.SCHEDULE if plans else None
