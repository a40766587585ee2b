"""Indexing as ``index.py`` runs it, in this process (Hudi: HoodieIndexer)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from spark_jobs.core.config.keys import metadata as metadata_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.writer import UpdatingMetadataWriter
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings, schedule
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.at_once import ServiceAtOnce, run_at_once
from spark_jobs.frame.in_steps import ServiceInSteps, run_in_steps
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import open_to_change
from spark_jobs.options.indexing import IndexingMode, IndexingOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.indexing.execute import carry_out_plan, claim_plan, give_up, read_plan, remove_plan, unlist
from spark_jobs.services.indexing.plan import IndexPlan, plan_indexing
from spark_jobs.services.rewriting.context import choose_plan

ACTION = "indexing"
_ENABLED_BY = {
    MetadataPartition.COLUMN_STATS: metadata_keys.METADATA_COLUMN_STATS,
    MetadataPartition.BLOOM_FILTERS: metadata_keys.METADATA_BLOOM_FILTERS,
    MetadataPartition.RECORD_INDEX: metadata_keys.RECORD_INDEX,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pending:
    """A plan on the timeline."""

    instant: Instant
    plan: IndexPlan


def run_indexing(options: IndexingOptions, context: JobContext) -> JobResult:
    """Plan, make or drop indexes.

    :raises ConfigError: the table has no metadata table, or the plan that was named is none.
    :raises WriteConflictError: what was indexed was undone meanwhile; nothing of it is visible.
    """
    progress, asked = context.progress, [MetadataPartition[one.value] for one in options.types]
    opened = open_to_change(options, context)
    table, properties, settings = opened.table, opened.properties, opened.settings
    if not table.config.lists(MetadataPartition.FILES):
        raise ConfigError(
            f"table {table.config.name} has no metadata table",
            todo=f"write once with {metadata_keys.METADATA_ENABLED.name}=true",
            table=table.config.name,
        )
    if options.mode is IndexingMode.DROP_INDEX:
        return run_at_once(_Drop(settings=settings, asked=asked), opened, progress, dry_run=options.dry_run)
    wanted = options.instant_time
    if options.mode is not IndexingMode.EXECUTE:
        left = _left_pending(table, settings, asked) if options.mode is IndexingMode.SCHEDULE_AND_EXECUTE else None
        if left is not None:
            progress.note(f"indexing {left} is planned already")
            wanted = left
        else:
            scheduling = _Scheduling(settings=settings, asked=asked)
            scheduled = run_at_once(scheduling, opened, progress, dry_run=options.dry_run)
            if options.mode is IndexingMode.SCHEDULE or scheduled.state is not JobState.SCHEDULED:
                return scheduled
            wanted = scheduled.instant
    execution = _Execution(properties=properties, asked=wanted)
    return run_in_steps(execution, table.refreshed(), progress, dry_run=options.dry_run)


def _left_pending(table: HudiTable, settings: TransactionSettings, asked: Sequence[MetadataPartition]) -> str | None:
    """The pending plan that makes one of the indexes."""
    for pending in table.timeline.pending({Action.INDEXING}):
        if set(read_plan(table.timeline, pending, settings).partitions) & set(asked):
            return pending.timestamp
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scheduling(ServiceAtOnce[IndexPlan]):
    """A plan for those of the ``asked`` indexes that are not there yet."""

    settings: TransactionSettings
    asked: Sequence[MetadataPartition]
    action: ClassVar[str] = ACTION
    beside_restores: ClassVar[bool] = True  # one refuses what is put on the timeline

    def plan(self, table: HudiTable) -> IndexPlan | Nothing:
        return plan_indexing(self.asked, table.config, table.timeline, _requested_partitions(table, self.settings))

    def carry_out(
        self, locked: TransactionSettings, table: HudiTable, plan: IndexPlan, progress: Progress
    ) -> JobResult:
        instant = schedule(
            locked, Action.INDEXING, table.timeline, plan.requested(table.config.format.metadata).payload()
        )
        return _result(table, JobState.SCHEDULED, instant.timestamp, plan)

    def shown(self, table: HudiTable, plan: IndexPlan, progress: Progress) -> JobResult:
        return _result(table, JobState.DRY_RUN, None, plan)


def _requested_partitions(table: HudiTable, settings: TransactionSettings) -> frozenset[str]:
    pending = table.timeline.pending({Action.INDEXING})
    plans = [read_plan(table.timeline, one, settings) for one in pending]
    return frozenset(table.config.format.metadata.path(one) for plan in plans for one in plan.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Execution(ServiceInSteps[HudiTable, _Pending]):
    """The plan of an ``asked`` instant, or the oldest. Indexes are built beside writers; the table lock is held while
    the plan is claimed, and while what is built is listed.
    """

    properties: Mapping[str, str]
    asked: str | None
    action: ClassVar[str] = ACTION

    def plan(self, table: HudiTable) -> _Pending | Nothing:
        pending = list(table.timeline.pending({Action.INDEXING}))
        instant = choose_plan(
            table.timeline, pending, self.asked, "pending indexing", lambda done: done.action is Action.INDEXING
        )
        if instant is None:
            return Nothing(f"indexing {self.asked} is completed already" if self.asked else "none is planned")
        plan = read_plan(table.timeline, instant, table.transaction_settings(self.properties))
        return _Pending(instant=instant, plan=plan)

    def shown(self, table: HudiTable, plan: _Pending, progress: Progress) -> JobResult:
        return _result(table, JobState.DRY_RUN, plan.instant.timestamp, plan.plan)

    def carry_out(self, table: HudiTable, plan: _Pending, progress: Progress) -> JobResult:
        instant, indexes = plan.instant, plan.plan
        settings = table.transaction_settings(_with_indexes(table, self.properties, indexes))
        writer = settings.metadata_writer
        if not isinstance(writer, UpdatingMetadataWriter):
            raise ConfigError(
                f"{metadata_keys.METADATA_ENABLED.name} is false", todo="leave it on where indexes are to be made"
            )
        with settings.new_lock() as locked:
            heartbeat = claim_plan(settings, instant, locked)
        if heartbeat is None:
            reason = f"another process executes or executed indexing {instant.timestamp}"
            return Nothing(reason).result(ACTION, table)
        inflight = Instant(instant.timestamp, Action.INDEXING, State.INFLIGHT)
        try:
            with progress.phase("index"):
                done = carry_out_plan(settings, inflight, indexes, writer.source_of, heartbeat)
        except BaseException:
            give_up(settings, inflight, indexes, heartbeat)
            raise
        extra = {"indexed_up_to": done.up_to, "actions_caught_up": done.caught_up}
        return _result(table, JobState.COMPLETED, instant.timestamp, indexes, records=done.records, extra=extra)


def _with_indexes(table: HudiTable, properties: Mapping[str, str], plan: IndexPlan) -> dict[str, str]:
    """The properties with every index switched on that the plan makes."""
    on = {_ENABLED_BY[one].name: "true" for one in plan.partitions if one in _ENABLED_BY}
    if len(on) < len(plan.partitions):
        raise ConfigError(
            f"a plan of table {table.config.name} makes the partition files, which the next write makes",
            todo=f"write once with {metadata_keys.METADATA_ENABLED.name}=true",
        )
    return {**properties, **on}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drop(ServiceAtOnce[IndexPlan]):
    """The ``asked`` indexes go, finished or not, with the pending plans that hold one of them."""

    settings: TransactionSettings
    asked: Sequence[MetadataPartition]
    action: ClassVar[str] = ACTION
    beside_restores: ClassVar[bool] = True  # which takes the whole metadata table off

    def plan(self, table: HudiTable) -> IndexPlan | Nothing:
        building = table_keys.METADATA_PARTITIONS_INFLIGHT.of(table.config.properties)
        there = {*table.config.metadata_partitions, *building, *_requested_partitions(table, self.settings)}
        gone = tuple(one for one in self.asked if table.config.format.metadata.path(one) in there)
        if not gone:
            return Nothing(f"the table has no {', '.join(one.name for one in self.asked)}")
        return IndexPlan(partitions=gone, base_instant="")

    def carry_out(
        self, locked: TransactionSettings, table: HudiTable, plan: IndexPlan, progress: Progress
    ) -> JobResult:
        for pending in table.timeline.pending({Action.INDEXING}):
            planned = read_plan(table.timeline, pending, locked)
            if set(planned.partitions) & set(plan.partitions):
                unlist(locked, planned.partitions, finished=False)
                remove_plan(table.timeline, pending)
        unlist(locked, plan.partitions, finished=True)
        return _result(table, JobState.COMPLETED, None, plan)

    def shown(self, table: HudiTable, plan: IndexPlan, progress: Progress) -> JobResult:
        return _result(table, JobState.DRY_RUN, None, plan)


def _result(
    table: HudiTable,
    state: JobState,
    instant: str | None,
    plan: IndexPlan,
    *,
    records: int = 0,
    extra: Mapping[str, object] | None = None,
) -> JobResult:
    return JobResult(
        action=ACTION,
        state=state,
        instant=instant,
        base_path=table.base_path,
        table=table.config.name,
        records_out=records,
        plan=plan.to_json() if state is JobState.DRY_RUN else None,
        extra={"indexes": [one.name for one in plan.partitions], **(extra or {})},
    )
