"""Carrying a clean out, so that a second run after a crash ends in the same state (Hudi: CleanActionExecutor)."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from spark_jobs.core.errors import AlreadyExistsError
from spark_jobs.core.files.names import join
from spark_jobs.core.files.partition_metafile import METAFILES
from spark_jobs.core.storage.many import delete_files
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import transition
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.avro_schemas import CLEAN_METADATA
from spark_jobs.core.timeline.instant import Instant, State
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.engine.progress import Progress


def withdraw_without_plan(table: HudiTable, clean: Instant) -> bool:
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
    names = {partition: [one["filePath"].rsplit("/", 1)[-1] for one in files] for partition, files in paths.items()}
    doomed = [join(table.base_path, join(partition, name)) for partition in names for name in names[partition]]
    with progress.phase("delete", len(doomed)) as phase:
        delete_files(table.storage, doomed, phase.advance)
        for partition, deleted in names.items():
            is_gone = partition in empty and remove_partition(table, partition)
            partitions[partition] = _partition_metadata(partition, raw["policy"], deleted, is_gone)
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


def remove_partition(table: HudiTable, partition: str) -> bool:
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
