"""Compaction and clustering inside a writer, after its commit, where the configuration asks for it (Hudi:
BaseHoodieTableServiceClient.runTableServicesInline). By default they are jobs of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spark_jobs.core.config.keys import clustering as clustering_keys
from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.failure import failure_of
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.job import Job
from spark_jobs.options.result import JobState
from spark_jobs.options.service import CLUSTERING, COMPACTION, ClusteringOptions, CompactionOptions, ServiceOptions
from spark_jobs.services.clustering.job import ClusteringService
from spark_jobs.services.compaction.job import CompactionService
from spark_jobs.services.compaction.log_service import LogCompactionService


@dataclass(frozen=True, slots=True, kw_only=True)
class _InlineService:
    """A service that the configuration asks for after a commit; ``service`` knows its plans, ``job`` makes them."""

    service: CompactionService | LogCompactionService | ClusteringService
    job: Job
    options: ServiceOptions

    def waiting(self, table: HudiTable) -> list[Instant]:
        """Pending plans beside which a write that is only to plan makes none (Hudi: the same)."""
        return self.service.pending(table.refreshed()) if self.options.mode is ServiceMode.SCHEDULE else []


def run_inline_services(engine: Engine, table: HudiTable, properties: Mapping[str, str], progress: Progress) -> None:
    """Plan, or plan and execute, what is due; the caller holds no lock.

    The commit before it stands already: what fails here is reported, and left to the next one.
    """
    context = JobContext(lake=table.lake, progress=progress, engine=engine)
    for one in _asked_for(table, properties):
        name = one.service.action
        try:
            if waiting := one.waiting(table):
                # with another plan after each write, plans would pile up until somebody executes them
                progress.note(f"no {name} after the commit: {name} {waiting[0].timestamp} is planned already")
                continue
            result = one.job.run(one.options, context)
        except Exception as error:  # whatever ends it, the commit before it stands
            progress.warn(f"{name} after the commit failed ({failure_of(error).message}); the next commit tries again")
            continue
        if result.state is JobState.NOTHING_TO_DO:
            progress.note(f"no {name} after the commit: {result.reason}")
        else:
            progress.note(f"{name} {result.instant} after the commit: {result.state.value}")


def _asked_for(table: HudiTable, properties: Mapping[str, str]) -> Iterator[_InlineService]:
    if not table_keys.TABLE_SERVICES.of(properties):
        return
    conf = {name: value for name, value in properties.items() if name.startswith(("hoodie.", "parquet.", "pyhudi."))}
    if table.config.is_merge_on_read:
        mode = _mode(
            runs=compact_keys.COMPACT_INLINE.of(properties), plans=compact_keys.COMPACT_SCHEDULE_INLINE.of(properties)
        )
        if mode is not None:
            options = CompactionOptions(base_path=table.url, hoodie_conf=conf, mode=mode)
            yield _InlineService(service=CompactionService(properties), job=COMPACTION, options=options)
        if compact_keys.LOG_COMPACT_INLINE.of(properties):
            options = CompactionOptions(base_path=table.url, hoodie_conf=conf, log_compaction=True)
            yield _InlineService(service=LogCompactionService(properties), job=COMPACTION, options=options)
    mode = _mode(
        runs=clustering_keys.CLUSTER_INLINE.of(properties), plans=clustering_keys.CLUSTER_SCHEDULE_INLINE.of(properties)
    )
    if mode is not None:
        clustering = ClusteringOptions(base_path=table.url, hoodie_conf=conf, mode=mode)
        yield _InlineService(service=ClusteringService(properties), job=CLUSTERING, options=clustering)


def _mode(*, runs: bool, plans: bool) -> ServiceMode | None:
    if runs:
        return ServiceMode.SCHEDULE_AND_EXECUTE
    return ServiceMode.SCHEDULE if plans else None
