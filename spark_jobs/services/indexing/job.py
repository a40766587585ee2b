"""Indexing as ``index.py`` runs it, in this process (Hudi: HoodieIndexer)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from spark_jobs.core.config.keys import metadata as metadata_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.metadata_table.layout import MetadataPartition
from spark_jobs.core.metadata_table.writer import UpdatingMetadataWriter
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.avro_schemas import INDEX_PLAN
from spark_jobs.core.transaction.transaction import TransactionSettings, schedule
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.options.indexing import IndexingMode, IndexingOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.frame.nothing import Nothing
from spark_jobs.services.frame.opening import open_to_change
from spark_jobs.services.indexing.execute import carry_out_plan, claim_plan, give_up, read_plan, remove_plan, unlist
from spark_jobs.services.indexing.plan import IndexPlan, plan_indexing
from spark_jobs.services.rewriting.context import choose_plan

ACTION = "indexing"
_ENABLED_BY = {
    MetadataPartition.COLUMN_STATS: metadata_keys.METADATA_COLUMN_STATS,
    MetadataPartition.BLOOM_FILTERS: metadata_keys.METADATA_BLOOM_FILTERS,
    MetadataPartition.RECORD_INDEX: metadata_keys.RECORD_INDEX,
}


def run_indexing(options: IndexingOptions, context: JobContext) -> JobResult:
    """Plan, make or drop indexes.

    :raises ConfigError: the table has no metadata table, or the plan that was named is none.
    :raises WriteConflictError: what was indexed was undone meanwhile; nothing of it is visible.
    """
    progress, asked = context.progress, [MetadataPartition[one.value] for one in options.types]
    opened = open_to_change(options, context)
    table, properties, settings = opened.table, opened.properties, opened.settings
    if MetadataPartition.FILES.path not in table.config.metadata_partitions:
        raise ConfigError(
            f"table {table.config.name} has no metadata table",
            todo=f"write once with {metadata_keys.METADATA_ENABLED.name}=true",
            table=table.config.name,
        )
    if options.mode is IndexingMode.DROP_INDEX:
        return _drop(table, settings, asked, dry_run=options.dry_run)
    wanted = options.instant_time
    if options.mode is not IndexingMode.EXECUTE:
        left = _left_pending(table, settings, asked) if options.mode is IndexingMode.SCHEDULE_AND_EXECUTE else None
        if left is not None:
            progress.note(f"indexing {left} is planned already")
            wanted = left
        else:
            with progress.phase("schedule"):
                scheduled = _schedule(table, settings, asked, dry_run=options.dry_run)
            if options.mode is IndexingMode.SCHEDULE or scheduled.state is not JobState.SCHEDULED:
                return scheduled
            wanted = scheduled.instant
    return _execute(table.refreshed(), properties, wanted, progress, dry_run=options.dry_run)


def _left_pending(table: HudiTable, settings: TransactionSettings, asked: Sequence[MetadataPartition]) -> str | None:
    """The pending plan that makes one of the indexes."""
    for pending in table.timeline.pending({Action.INDEXING}):
        if set(read_plan(table.timeline, pending, settings).partitions) & set(asked):
            return pending.timestamp
    return None


def _schedule(
    table: HudiTable, settings: TransactionSettings, asked: Sequence[MetadataPartition], *, dry_run: bool
) -> JobResult:
    with nullcontext(settings) if dry_run else settings.new_lock() as locked:
        table = table.refreshed(locked.storage)
        plan = plan_indexing(asked, table.config, table.timeline, _planned(table, locked))
        if isinstance(plan, Nothing):
            return plan.result(ACTION, table)
        if dry_run:
            return _result(table, JobState.DRY_RUN, None, plan)
        data = encode_payload(INDEX_PLAN, plan.to_avro())
        instant = schedule(locked, Action.INDEXING, table.timeline, data)
        return _result(table, JobState.SCHEDULED, instant.timestamp, plan)


def _planned(table: HudiTable, settings: TransactionSettings) -> frozenset[str]:
    pending = table.timeline.pending({Action.INDEXING})
    plans = [read_plan(table.timeline, one, settings) for one in pending]
    return frozenset(partition.path for plan in plans for partition in plan.partitions)


def _execute(
    table: HudiTable, properties: Mapping[str, str], asked: str | None, progress: Progress, *, dry_run: bool
) -> JobResult:
    pending = list(table.timeline.pending({Action.INDEXING}))
    instant = choose_plan(
        table.timeline, pending, asked, "pending indexing", lambda done: done.action is Action.INDEXING
    )
    if instant is None:
        return Nothing(f"indexing {asked} is completed already" if asked else "none is planned").result(ACTION, table)
    plan = read_plan(table.timeline, instant, table.transaction_settings(properties))
    if dry_run:
        return _result(table, JobState.DRY_RUN, instant.timestamp, plan)
    settings = table.transaction_settings(_with_indexes(table, properties, plan))
    writer = settings.metadata_writer
    if not isinstance(writer, UpdatingMetadataWriter):
        raise ConfigError(
            f"{metadata_keys.METADATA_ENABLED.name} is false", todo="leave it on where indexes are to be made"
        )
    with settings.new_lock() as locked:
        heartbeat = claim_plan(settings, instant, locked)
    if heartbeat is None:
        return Nothing(f"another process executes or executed indexing {instant.timestamp}").result(ACTION, table)
    inflight = Instant(instant.timestamp, Action.INDEXING, State.INFLIGHT)
    try:
        with progress.phase("index"):
            done = carry_out_plan(settings, inflight, plan, writer.source_of, heartbeat)
    except BaseException:
        give_up(settings, inflight, plan, heartbeat)
        raise
    extra = {"indexed_up_to": done.up_to, "actions_caught_up": done.caught_up}
    return _result(table, JobState.COMPLETED, instant.timestamp, plan, records=done.records, extra=extra)


def _with_indexes(table: HudiTable, properties: Mapping[str, str], plan: IndexPlan) -> dict[str, str]:
    """The properties with every index switched on that the plan makes."""
    on = {_ENABLED_BY[one].name: "true" for one in plan.partitions if one in _ENABLED_BY}
    if len(on) < len(plan.partitions):
        raise ConfigError(
            f"a plan of table {table.config.name} makes the partition files, which the next write makes",
            todo=f"write once with {metadata_keys.METADATA_ENABLED.name}=true",
        )
    return {**properties, **on}


def _drop(
    table: HudiTable, settings: TransactionSettings, asked: Sequence[MetadataPartition], *, dry_run: bool
) -> JobResult:
    """Take indexes off, finished or not, and the pending plans that hold one of them."""
    with nullcontext(settings) if dry_run else settings.new_lock() as locked:
        table = table.refreshed(locked.storage)
        building = table_keys.METADATA_PARTITIONS_INFLIGHT.of(table.config.properties)
        there = {*table.config.metadata_partitions, *building, *_planned(table, locked)}
        gone = tuple(one for one in asked if one.path in there)
        if not gone:
            return Nothing(f"the table has no {', '.join(one.name for one in asked)}").result(ACTION, table)
        dropped = IndexPlan(partitions=gone, base_instant="")
        if dry_run:
            return _result(table, JobState.DRY_RUN, None, dropped)
        for pending in table.timeline.pending({Action.INDEXING}):
            plan = read_plan(table.timeline, pending, locked)
            if set(plan.partitions) & set(gone):
                unlist(locked, plan.partitions, finished=False)
                remove_plan(table.timeline, pending)
        unlist(locked, gone, finished=True)
        return _result(table, JobState.COMPLETED, None, dropped)


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
