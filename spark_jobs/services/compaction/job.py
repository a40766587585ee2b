"""Compaction as ``compact.py`` runs it: schedule, execute, or both; each says why when it does nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from spark_jobs.core.config import write_keys as keys
from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.avro_schemas import COMPACTION_PLAN
from spark_jobs.core.timeline.commit_metadata import SCHEMA_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.instant import Action, Instant, State
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.transaction import Transaction, TransactionSettings, schedule
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services.compaction.execute import Compactor
from spark_jobs.services.compaction.plan import CompactionLimits, CompactionPlan, plan_compaction
from spark_jobs.services.due import delta_commits_since_compaction, pending_plans
from spark_jobs.services.outcome import nothing_to_do, written
from spark_jobs.services.rewrite import choose_plan, claim, refuse_on_other_type, rewrite_context
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes, undo

ACTION = "compaction"


def run_compaction(engine: Engine, options: CompactionOptions, progress: Progress) -> JobResult:
    """
    :raises ConfigError: a COPY_ON_WRITE table, or an instant that is no compaction of it.
    """
    properties = options.effective().hoodie_properties()
    for line in unknown_key_warnings(properties):
        progress.note(f"warning: {line}")
    table = HudiTable.open(options.base_path)
    refuse_unwritable(table.config)
    refuse_on_other_type(table, "compaction")
    settings = table.transaction_settings(properties)
    scheduled = None
    if options.mode is not ServiceMode.EXECUTE:
        with progress.phase("schedule"):
            scheduled = _schedule(table, settings, properties, dry_run=options.dry_run)
        if options.mode is ServiceMode.SCHEDULE or options.dry_run:
            return scheduled
    result = _execute(engine, table.refreshed(), settings, properties, options, progress)
    return scheduled if scheduled is not None and result.state is JobState.NOTHING_TO_DO else result


def _limits(properties: Mapping[str, str]) -> CompactionLimits:
    return CompactionLimits(
        target_io=keys.COMPACT_TARGET_IO.of(properties),
        log_size=keys.COMPACT_LOG_SIZE_THRESHOLD.of(properties),
        max_file_size=keys.MAX_FILE_SIZE.of(properties),
    )


def _schedule(
    table: HudiTable, settings: TransactionSettings, properties: Mapping[str, str], *, dry_run: bool
) -> JobResult:
    with settings.new_lock():
        table = table.refreshed()
        waiting = pending_plans(table.timeline, Action.COMPACTION)
        if waiting:
            plan = _read_plan(table, waiting[0])
            return replace(
                _planned(table, plan, waiting[0].timestamp, dry_run=dry_run),
                reason=f"compaction {waiting[0].timestamp} is planned already and was not executed yet",
            )
        due, needed = delta_commits_since_compaction(table.timeline), keys.COMPACT_MAX_DELTA_COMMITS.of(properties)
        keys.COMPACT_TRIGGER.of(properties)
        if len(due) < needed:
            return nothing_to_do(
                ACTION,
                table,
                f"{len(due)} delta commit(s) since the last compaction, {needed} make it due "
                f"({keys.COMPACT_MAX_DELTA_COMMITS.name})",
            )
        busy = frozenset({**table.pending.compaction, **table.pending.clustering})
        view = table.view()
        limits = _limits(properties)
        plan = plan_compaction(view.latest_slices(), busy, limits)
        if not plan.slices:
            return nothing_to_do(
                ACTION,
                table,
                f"none of {len(view.latest_slices())} file slices has logs of at least {limits.log_size} bytes "
                "outside pending plans",
            )
        if dry_run:
            return _planned(table, plan, None, dry_run=True)
        payload = encode_payload(COMPACTION_PLAN, plan.to_avro(limits))
        instant = schedule(settings, Action.COMPACTION, table.timeline, payload)
        return _planned(table, plan, instant.timestamp, dry_run=False)


def _planned(table: HudiTable, plan: CompactionPlan, instant: str | None, *, dry_run: bool) -> JobResult:
    return JobResult(
        action=ACTION,
        state=JobState.DRY_RUN if dry_run else JobState.SCHEDULED,
        instant=instant,
        base_path=table.base_path,
        table=table.config.name,
        files_in=plan.files_in,
        bytes_in=plan.bytes_in,
        plan=plan.to_json() if dry_run else None,
        extra={"file_slices": len(plan.slices)},
    )


def _read_plan(table: HudiTable, instant: Instant) -> CompactionPlan:
    raw = table.timeline.payload(instant.at(State.REQUESTED), table.clock)
    partitions = {operation["partitionPath"] or "" for operation in raw["operations"] or []}
    prefix = len(table.base_path) + 1
    sizes = {
        status.path[prefix:]: status.size
        for partition in partitions
        for status in table.storage.list(f"{table.base_path}/{partition}" if partition else table.base_path)
    }
    return CompactionPlan.from_avro(raw, sizes)


def _execute(
    engine: Engine,
    table: HudiTable,
    settings: TransactionSettings,
    properties: Mapping[str, str],
    options: CompactionOptions,
    progress: Progress,
) -> JobResult:
    wanted = choose_plan(
        table.timeline, pending_plans(table.timeline, Action.COMPACTION), options.instant_time, "pending compaction"
    )
    if wanted is None:
        named = (
            f"compaction {options.instant_time} is completed already"
            if options.instant_time
            else "no compaction is planned"
        )
        return nothing_to_do(ACTION, table, named)
    if options.dry_run:
        return _planned(table, _read_plan(table, wanted), wanted.timestamp, dry_run=True)
    for undone, by in roll_back_failed_writes(settings):
        progress.note(f"rolled back {undone}, whose writer is gone (rollback {by})")
    transaction = claim(settings, wanted, progress.note)
    if transaction is None:
        return nothing_to_do(ACTION, table, f"another process completed compaction {wanted.timestamp}")
    try:
        transaction.to_inflight()
        plan = _read_plan(table, wanted)
        with progress.phase("merge", len(plan.slices)) as phase:
            outcomes = engine.run_each(
                plan.slices, _compactor(table.refreshed(), properties, wanted.timestamp), phase.advance
            )
        with progress.phase("publish"):
            stats = [stat for some in outcomes for stat in some]
            return _publish(table, transaction, plan, stats, progress)
    except BaseException:
        transaction.abandon()
        undo(settings, transaction.time, progress.note)
        raise


def _compactor(table: HudiTable, properties: Mapping[str, str], instant: str) -> Compactor:
    context = rewrite_context(table, properties, instant, max_file_size=keys.MAX_FILE_SIZE.of(properties))
    reader = SliceReader(
        storage=table.storage,
        base_path=table.base_path,
        schema=context.file_format.schema,
        visibility=Visibility.of(table.timeline),
        payload=context.payload,
        ordering_field=context.ordering_field,
    )
    return Compactor(context, reader)


def _publish(
    table: HudiTable, transaction: Transaction, plan: CompactionPlan, stats: list[WriteStat], progress: Progress
) -> JobResult:
    metadata = CommitMetadata(
        write_stats=tuple(stats),
        operation_type=OperationType.COMPACT,
        compacted=True,
        extra_metadata={SCHEMA_KEY: json.dumps(table.avro_schema)},
    )
    instant = transaction.publish(metadata.encode(), written=written_paths(stats))
    return written(
        ACTION,
        table,
        instant.timestamp,
        stats,
        files_in=plan.files_in,
        bytes_in=plan.bytes_in,
        seconds_by_phase=dict(progress.seconds_by_phase),
    )
