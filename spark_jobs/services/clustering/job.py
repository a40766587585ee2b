"""Clustering as ``cluster.py`` runs it: schedule, execute, or both; each says why when it does nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from spark_jobs.core.config import write_keys as keys
from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.avro_schemas import REQUESTED_REPLACE_METADATA
from spark_jobs.core.timeline.commit_metadata import SCHEMA_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.instant import Action, Instant, State
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.transaction import Transaction, TransactionSettings, schedule
from spark_jobs.core.view.pending import replaced_by_plan
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import ClusteringOptions
from spark_jobs.services.clustering.execute import Clusterer
from spark_jobs.services.clustering.plan import ClusteringLimits, ClusteringPlan, plan_clustering
from spark_jobs.services.due import commits_since, pending_plans
from spark_jobs.services.outcome import nothing_to_do, written
from spark_jobs.services.rewrite import choose_plan, claim, rewrite_context
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes, undo

ACTION = "clustering"


def run_clustering(engine: Engine, options: ClusteringOptions, progress: Progress) -> JobResult:
    """
    :raises ConfigError: an unknown sort column, or an instant that is no clustering of the table.
    """
    properties = options.effective().hoodie_properties()
    for line in unknown_key_warnings(properties):
        progress.note(f"warning: {line}")
    table = HudiTable.open(options.base_path)
    refuse_unwritable(table.config)
    settings = table.transaction_settings(properties)
    scheduled = None
    if options.mode is not ServiceMode.EXECUTE:
        with progress.phase("schedule"):
            scheduled = _schedule(table, settings, properties, dry_run=options.dry_run)
        if options.mode is ServiceMode.SCHEDULE or options.dry_run:
            return scheduled
    result = _execute(engine, table.refreshed(), settings, properties, options, progress)
    return scheduled if scheduled is not None and result.state is JobState.NOTHING_TO_DO else result


def _limits(properties: Mapping[str, str]) -> ClusteringLimits:
    return ClusteringLimits(
        small_file_limit=keys.CLUSTER_SMALL_FILE_LIMIT.of(properties),
        target_file=keys.CLUSTER_TARGET_FILE.of(properties),
        group_bytes=keys.CLUSTER_GROUP_BYTES.of(properties),
        max_groups=keys.CLUSTER_MAX_GROUPS.of(properties),
        single_groups=keys.CLUSTER_SINGLE_GROUP.of(properties),
        max_file_size=keys.MAX_FILE_SIZE.of(properties),
    )


def _plans(table: HudiTable) -> list[Instant]:
    """Pending replace commits that are clusterings; a pending overwrite has no plan."""
    waiting = pending_plans(table.timeline, Action.REPLACE_COMMIT)
    return [one for one in waiting if replaced_by_plan(table.timeline, one, table.clock)]


def _last_clustering(table: HudiTable) -> str:
    for instant in reversed(table.timeline.completed(Action.REPLACE_COMMIT)):
        if table.timeline.commit_metadata(instant, table.clock).operation_type is OperationType.CLUSTER:
            return instant.timestamp
    return ""


def _schedule(
    table: HudiTable, settings: TransactionSettings, properties: Mapping[str, str], *, dry_run: bool
) -> JobResult:
    with settings.new_lock():
        table = table.refreshed()
        waiting = _plans(table)
        if waiting:
            plan = _read_plan(table, waiting[0])
            return replace(
                _planned(table, plan, waiting[0].timestamp, dry_run=dry_run),
                reason=f"clustering {waiting[0].timestamp} is planned already and was not executed yet",
            )
        due, needed = commits_since(table.timeline, _last_clustering(table)), keys.CLUSTER_MAX_COMMITS.of(properties)
        if len(due) < needed:
            return nothing_to_do(
                ACTION,
                table,
                f"{len(due)} commit(s) since the last clustering, {needed} make it due "
                f"({keys.CLUSTER_MAX_COMMITS.name})",
            )
        columns = keys.CLUSTER_SORT_COLUMNS.of(properties)
        unknown = [name for name in columns if name not in table.schema.names]
        if unknown:
            raise ConfigError(
                f"sort column {unknown[0]} is not in table {table.config.name}",
                todo="its columns are " + ", ".join(table.schema.names),
            )
        busy = frozenset({**table.pending.compaction, **table.pending.clustering})
        view = table.view()
        plan = plan_clustering(view.latest_slices(), busy, _limits(properties), columns)
        if not plan.groups:
            return nothing_to_do(
                ACTION,
                table,
                f"none of {len(view.latest_slices())} file slices is below "
                f"{keys.CLUSTER_SMALL_FILE_LIMIT.of(properties)} bytes outside pending plans",
            )
        if dry_run:
            return _planned(table, plan, None, dry_run=True)
        payload = encode_payload(REQUESTED_REPLACE_METADATA, plan.to_avro(table.base_path))
        instant = schedule(settings, Action.REPLACE_COMMIT, table.timeline, payload)
        return _planned(table, plan, instant.timestamp, dry_run=False)


def _planned(table: HudiTable, plan: ClusteringPlan, instant: str | None, *, dry_run: bool) -> JobResult:
    return JobResult(
        action=ACTION,
        state=JobState.DRY_RUN if dry_run else JobState.SCHEDULED,
        instant=instant,
        base_path=table.base_path,
        table=table.config.name,
        files_in=sum(len(one.paths) for one in plan.slices),
        bytes_in=sum(one.size for one in plan.slices),
        plan=plan.to_json() if dry_run else None,
        extra={"groups": len(plan.groups), "sort_columns": list(plan.sort_columns)},
    )


def _read_plan(table: HudiTable, instant: Instant) -> ClusteringPlan:
    raw = table.timeline.payload(instant.at(State.REQUESTED), table.clock)
    sizes = {path: size for one in table.view().latest_slices() for path, size in one.sizes}
    return ClusteringPlan.from_avro(raw, sizes)


def _execute(
    engine: Engine,
    table: HudiTable,
    settings: TransactionSettings,
    properties: Mapping[str, str],
    options: ClusteringOptions,
    progress: Progress,
) -> JobResult:
    wanted = choose_plan(table.timeline, _plans(table), options.instant_time, "pending clustering")
    if wanted is None:
        named = (
            f"clustering {options.instant_time} is completed already"
            if options.instant_time
            else "no clustering is planned"
        )
        return nothing_to_do(ACTION, table, named)
    if options.dry_run:
        return _planned(table, _read_plan(table, wanted), wanted.timestamp, dry_run=True)
    for undone, by in roll_back_failed_writes(settings):
        progress.note(f"rolled back {undone}, whose writer is gone (rollback {by})")
    transaction = claim(settings, wanted, progress.note)
    if transaction is None:
        return nothing_to_do(ACTION, table, f"another process completed clustering {wanted.timestamp}")
    try:
        transaction.to_inflight()
        table = table.refreshed()
        plan = _read_plan(table, wanted)
        with progress.phase("rewrite", len(plan.groups)) as phase:
            work = _clusterer(table, properties, wanted.timestamp, plan)
            outcomes = engine.run_each(list(enumerate(plan.groups)), work, phase.advance)
        with progress.phase("publish"):
            stats = [stat for some in outcomes for stat in some]
            return _publish(table, transaction, plan, stats, progress)
    except BaseException:
        transaction.abandon()
        undo(settings, transaction.time, progress.note)
        raise


def _clusterer(table: HudiTable, properties: Mapping[str, str], instant: str, plan: ClusteringPlan) -> Clusterer:
    context = rewrite_context(table, properties, instant, max_file_size=keys.CLUSTER_TARGET_FILE.of(properties))
    reader = SliceReader(
        storage=table.storage,
        base_path=table.base_path,
        schema=context.file_format.schema,
        visibility=Visibility.of(table.timeline),
        payload=context.payload,
        ordering_field=context.ordering_field,
    )
    return Clusterer(context=context, reader=reader, sort_columns=plan.sort_columns, seed=table.clock.new_uuid())


def _publish(
    table: HudiTable, transaction: Transaction, plan: ClusteringPlan, stats: list[WriteStat], progress: Progress
) -> JobResult:
    replaced: dict[str, list[str]] = {}
    for one in plan.slices:
        replaced.setdefault(one.partition, []).append(one.file_id)
    metadata = CommitMetadata(
        write_stats=tuple(stats),
        operation_type=OperationType.CLUSTER,
        extra_metadata={SCHEMA_KEY: json.dumps(table.avro_schema)},
        replaced_file_ids={partition: tuple(ids) for partition, ids in replaced.items()},
    )
    groups = frozenset((one.partition, one.file_id) for one in plan.slices)
    instant = transaction.publish(metadata.encode(), groups, written=written_paths(stats))
    return written(
        ACTION,
        table,
        instant.timestamp,
        stats,
        files_in=sum(len(one.paths) for one in plan.slices),
        bytes_in=sum(one.size for one in plan.slices),
        seconds_by_phase=dict(progress.seconds_by_phase),
    )
