"""Cleaning as ``clean.py`` runs it, in this process: no JVM starts for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from spark_jobs.core.config import write_keys as keys
from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.errors import AlreadyExistsError, CorruptTableError, StorageError
from spark_jobs.core.files.names import join
from spark_jobs.core.files.partition_metafile import METAFILES
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import transition
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.avro_schemas import CLEAN_METADATA, CLEANER_PLAN
from spark_jobs.core.timeline.instant import Action, Instant, State
from spark_jobs.core.transaction.transaction import TransactionSettings, schedule
from spark_jobs.engine.progress import Progress
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.cleaning.plan import CleanPlan, CleanSettings, plan_cleaning
from spark_jobs.services.due import commits_since
from spark_jobs.services.outcome import nothing_to_do
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes

ACTION = "clean"


def run_cleaning(options: CleanOptions, progress: Progress) -> JobResult:
    """Carry out a clean that was left pending, then plan and carry out a new one; all under the table lock.

    :raises UnsupportedTableError: a table that this release does not write.
    """
    properties = options.effective().hoodie_properties()
    for line in unknown_key_warnings(properties):
        progress.note(f"warning: {line}")
    table = HudiTable.open(options.base_path, lists_storage=True)
    refuse_unwritable(table.config)
    settings = table.transaction_settings(properties)
    if options.dry_run:
        plan = plan_clean(table, properties)
        return _nothing(table, properties, plan) or _result(table, plan, None, progress)
    for undone, by in roll_back_failed_writes(settings):
        progress.note(f"rolled back {undone}, whose writer is gone (rollback {by})")
    with settings.new_lock():
        table = table.refreshed()
        for pending in table.timeline.pending({Action.CLEAN}):
            if _withdraw_without_plan(table, pending):
                progress.note(f"removed clean {pending.timestamp}, whose plan was never written")
            else:
                progress.note(f"finishing clean {pending.timestamp}, which was left pending")
                carry_out_clean(settings, table, pending, progress)
            table = table.refreshed()
        with progress.phase("plan"):
            plan = plan_clean(table, properties)
        reason = _nothing(table, properties, plan)
        if reason is not None:
            return reason
        payload = encode_payload(CLEANER_PLAN, plan.to_avro(table.base_path))
        requested = schedule(settings, Action.CLEAN, table.timeline, payload)
        carry_out_clean(settings, table.refreshed(), requested, progress)
        return _result(table, plan, requested.timestamp, progress)


def plan_clean(table: HudiTable, properties: Mapping[str, str]) -> CleanPlan:
    policy = keys.CLEAN_POLICY.of(properties)
    by_commits = policy is keys.CleaningPolicy.KEEP_LATEST_COMMITS
    retained = (keys.CLEAN_COMMITS_RETAINED if by_commits else keys.CLEAN_FILE_VERSIONS_RETAINED).of(properties)
    savepoints = table.timeline.completed(Action.SAVEPOINT)
    return plan_cleaning(
        table.view().all_groups(),
        CleanSettings(policy=policy, retained=retained),
        completed=table.timeline.completed_commits(),
        pending=[one.timestamp for one in table.timeline.pending_writes()],
        protected=_protected(table, savepoints),
        savepoints=tuple(one.timestamp for one in savepoints),
    )


def _protected(table: HudiTable, savepoints: tuple[Instant, ...]) -> frozenset[str]:
    """Names of files that savepoints and pending clusterings hold."""
    names: set[str] = set()
    for savepoint in savepoints:
        payload = table.timeline.payload(savepoint, table.clock)
        for partition in payload["partitionMetadata"].values():
            names.update(partition["savepointDataFile"])
    for group in table.view().all_groups():
        if group.key in table.pending.clustering:
            names.update(path.rsplit("/", 1)[-1] for path in group.slices[0].paths)
    return frozenset(names)


def _nothing(table: HudiTable, properties: Mapping[str, str], plan: CleanPlan) -> JobResult | None:
    """The reason not to clean, with its numbers; None where there is something to do."""
    last = _last_cleaned(table)
    since, needed = commits_since(table.timeline, last), keys.CLEAN_MAX_COMMITS.of(properties)
    if len(since) < needed:
        return nothing_to_do(
            ACTION,
            table,
            f"{len(since)} commit(s) since the last clean, {needed} make it due ({keys.CLEAN_MAX_COMMITS.name})",
        )
    if plan.files:
        return None
    completed, retained = len(table.timeline.completed_commits()), plan.settings.retained
    if plan.settings.policy is keys.CleaningPolicy.KEEP_LATEST_COMMITS and plan.retain_from is None:
        pending = table.timeline.pending_writes()
        if completed > retained and pending:
            return nothing_to_do(ACTION, table, f"the pending instant {pending[0]} keeps all file slices")
        return nothing_to_do(
            ACTION,
            table,
            f"{completed} completed commit(s), {retained} are retained ({keys.CLEAN_COMMITS_RETAINED.name})",
        )
    return nothing_to_do(ACTION, table, "no file group has a slice older than the retained ones")


def _last_cleaned(table: HudiTable) -> str:
    """The newest commit that the last clean knew; empty where there was none, or nothing of it is readable.

    Hudi leaves an empty completed file where it died while it wrote one: its plan tells the same.
    """
    cleans = table.timeline.completed(Action.CLEAN)
    for instant in (cleans[-1], cleans[-1].at(State.REQUESTED)) if cleans else ():
        with suppress(CorruptTableError, StorageError):
            return str(table.timeline.payload(instant, table.clock)["lastCompletedCommitTimestamp"] or "")
    return ""


def _withdraw_without_plan(table: HudiTable, clean: Instant) -> bool:
    """Take a clean off the timeline whose plan is empty: Hudi died while it wrote it, so nothing was deleted by it."""
    if table.timeline.read(clean.at(State.REQUESTED)):
        return False
    for state in (State.INFLIGHT, State.REQUESTED):
        table.storage.delete(table.timeline.path(clean.at(state)))
    return True


def carry_out_clean(settings: TransactionSettings, table: HudiTable, clean: Instant, progress: Progress) -> None:
    """Delete what the plan on the timeline lists, then publish; files that are gone already count as deleted."""
    started = settings.clock.monotonic()
    data = table.timeline.read(clean.at(State.REQUESTED))
    raw = table.timeline.payload(clean.at(State.REQUESTED), settings.clock)
    inflight = clean
    if clean.state is State.REQUESTED:
        inflight = transition(table.timeline, clean, State.INFLIGHT, data)
    paths = raw["filePathsToBeDeletedPerPartition"] or {}
    empty = set(raw["partitionsToBeDeleted"] or [])
    partitions: dict[str, Any] = {}
    with progress.phase("delete", sum(len(files) for files in paths.values())) as phase:
        for partition, files in paths.items():
            names = [one["filePath"].rsplit("/", 1)[-1] for one in files]
            for name in names:
                table.storage.delete(join(table.base_path, join(partition, name)))
                phase.advance()
            is_gone = partition in empty and _remove_partition(table, partition)
            partitions[partition] = _partition_metadata(partition, raw["policy"], names, is_gone)
    retain = raw["earliestInstantToRetain"]
    metadata = {
        "startCleanTime": clean.timestamp,
        "timeTakenInMillis": math.ceil((settings.clock.monotonic() - started) * 1000),
        "totalFilesDeleted": sum(len(one["successDeleteFiles"]) for one in partitions.values()),
        "earliestCommitToRetain": retain["timestamp"] if retain else "",
        "lastCompletedCommitTimestamp": raw["lastCompletedCommitTimestamp"],
        "partitionMetadata": partitions,
        "version": 2,
        "bootstrapPartitionMetadata": {},
        "extraMetadata": raw.get("extraMetadata") or {},
    }
    completed = encode_payload(CLEAN_METADATA, metadata)
    settings.tell_metadata_table(settings.load_timeline(), inflight, completed)
    transition(table.timeline, inflight, State.COMPLETED, completed)


def _partition_metadata(partition: str, policy: str, names: list[str], is_empty: bool) -> dict[str, Any]:
    return {
        "partitionPath": partition,
        "policy": policy,
        "deletePathPatterns": names,
        "successDeleteFiles": names,
        "failedDeleteFiles": [],
        "isPartitionDeleted": is_empty,
    }


def _remove_partition(table: HudiTable, partition: str) -> bool:
    """Remove the directory of a partition that was emptied, unless a write since the plan put something there.

    One that puts its file there after the listing keeps its directory, and gets the metafiles back.

    :returns: whether it is gone.
    """
    folder = join(table.base_path, partition)
    names = {status.name for status in table.storage.list(folder)}
    metafiles = names.intersection(METAFILES)
    if names - metafiles - {f".{name}.crc" for name in metafiles}:
        return False
    contents = {f"{folder}/{name}": table.storage.read(f"{folder}/{name}") for name in metafiles}
    for path in contents:
        table.storage.delete(path)
    if table.storage.remove_empty_directory(folder):
        return True
    for path, data in contents.items():
        with suppress(AlreadyExistsError):  # the writer made its own
            table.storage.create(path, data)
    return False


def _result(table: HudiTable, plan: CleanPlan, instant: str | None, progress: Progress) -> JobResult:
    return JobResult(
        action=ACTION,
        state=JobState.COMPLETED if instant else JobState.DRY_RUN,
        instant=instant,
        base_path=table.base_path,
        table=table.config.name,
        files_in=plan.files,
        bytes_in=plan.bytes,
        plan=None if instant else plan.to_json(),
        seconds_by_phase=dict(progress.seconds_by_phase),
        extra={
            "deleted_files": plan.files,
            "deleted_bytes": plan.bytes,
            "retain_from": plan.retain_from.timestamp if plan.retain_from else None,
        },
    )
