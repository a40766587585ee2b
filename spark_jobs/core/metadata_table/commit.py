"""Writing to the metadata table: a delta commit, and its undoing.

Hudi: HoodieBackedTableMetadataWriter.commitInternal, and a rollback by listing. The caller holds the lock of the data
table, which guards the metadata table too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import dropwhile

import pyarrow as pa

from spark_jobs.core.files.delete_records import encode_delete_records
from spark_jobs.core.files.hfile.writer import write_hfile
from spark_jobs.core.files.log_block import BlockType, HeaderKey, encode_block, parse_blocks
from spark_jobs.core.files.log_writer import command_block
from spark_jobs.core.format.file_names import UNKNOWN_WRITE_TOKEN
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.encoding import encoded
from spark_jobs.core.metadata_table.partition_changes import PartitionChanges
from spark_jobs.core.metadata_table.schema import RECORD_TEXT, STORED_TEXT
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import join, resolve
from spark_jobs.core.timeline.commit_metadata import SCHEMA_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.timeline.plans.rollback import RequestedRollback, RollbackRequest
from spark_jobs.core.timeline.results import NamedInstant, PartitionOutcome, RollbackRecord
from spark_jobs.core.timeline.steps import begin_at_once, complete, transition
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import FileSlice, LogFile

WRITE_TOKEN = "0-0-1"


EncodedChanges = Mapping[MetadataPartition, PartitionChanges]
"""What a delta commit writes."""
_Log = tuple[str, LogFile]
"""A log file, and the base instant of its slice."""


def commit_changes(table: MetadataTable, time: str, changes: EncodedChanges) -> None:
    """Write one delta commit: a log file for each file group with changes; without changes it has no file.

    :raises CorruptTableError: a partition that has changes has no file group.
    """
    targets = [target for partition, share in changes.items() for target in _targets(table, partition, share)]
    profile = CommitMetadata(
        write_stats=tuple(stat for target in targets for stat in target.profile()),
        operation_type=OperationType.UPSERT_PREPPED,
    )
    inflight = begin_at_once(table.timeline, time, Action.DELTA_COMMIT, profile=profile.payload())
    contents = encoded(targets, lambda target: blocks_of(time, target.partition, target.changes))
    stats = tuple(target.append(table, time, content) for target, content in contents)
    complete(table.timeline, inflight, delta_commit_metadata(stats, OperationType.UPSERT_PREPPED), table.clock)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A file group of the directory ``partition``, and the cells that it gets, in a log on top of ``base_instant``."""

    partition: str
    latest: FileSlice
    base_instant: str
    version: int
    changes: PartitionChanges

    def profile(self) -> tuple[WriteStat, WriteStat]:
        """What the inflight file says: Hudi's rollback finds the file group by it."""
        nothing = WriteStat(file_id="", path=None, partition_path=self.partition)
        group = replace(
            nothing,
            file_id=self.latest.file_id,
            prev_commit=self.base_instant,
            num_update_writes=len(self.changes.keys),
        )
        return nothing, group

    def append(self, table: MetadataTable, time: str, content: bytes) -> WriteStat:
        name = table.config.format.log_file(
            self.latest.file_id,
            base_instant=self.base_instant,
            instant=time,
            version=self.version,
            write_token=WRITE_TOKEN,
        )
        path = join(self.partition, str(name))
        table.storage.create(resolve(table.folder, path), content)
        is_latest = self.latest.base_instant == self.base_instant
        base = self.latest.base_file if is_latest else None
        logs = [str(log.name) for log in self.latest.log_files if log.name.instant == self.base_instant]
        return WriteStat(
            file_id=self.latest.file_id,
            path=path,
            partition_path=self.partition,
            prev_commit=self.base_instant,
            num_writes=len(self.changes.keys),
            num_update_writes=len(self.changes.keys),
            num_deletes=len(self.changes.deleted),
            total_write_bytes=len(content),
            file_size_in_bytes=len(content),
            log_version=self.version,
            base_file=str(base.name) if base else "",
            log_files=(*logs, str(name)),
        )


def _targets(table: MetadataTable, partition: MetadataPartition, changes: PartitionChanges) -> list[_Target]:
    if changes.is_empty:
        return []
    view = table.view(partition)
    slices = table.slices(partition, view)
    path, targets = table.path_of(partition), []
    for group, share in changes.by_group(len(slices)).items():
        latest = slices[group]
        base_instant = table.base_instant_for(latest.file_id, partition, view) or latest.base_instant
        version = view.log_versions.get((path, latest.file_id, base_instant), 0) + 1
        targets.append(
            _Target(partition=path, latest=latest, base_instant=base_instant, version=version, changes=share)
        )
    return targets


def delta_commit_metadata(
    stats: tuple[WriteStat, ...], operation: OperationType, *, compacted: bool = False
) -> Payload:
    """The completed file of a commit on the metadata table."""
    return CommitMetadata(
        write_stats=stats, operation_type=operation, compacted=compacted, extra_metadata={SCHEMA_KEY: RECORD_TEXT}
    ).payload()


def undo_commit(table: MetadataTable, target: Instant, time: str) -> None:
    """Roll a delta commit back, pending or completed; ``time`` is that of the rollback.

    :raises AlreadyExistsError: the rollback's instant is taken.
    """
    logs = _logs_with_blocks_of(table, target)
    requests = (
        RollbackRequest(
            partition=log.partition,
            file_id=log.name.file_id,
            base_instant=base_instant,
            cancel={str(log.name): log.size},
        )
        for base_instant, log in logs
    )
    plan = RequestedRollback(target=NamedInstant.naming(target), requests=tuple(requests))
    rollback = begin_at_once(table.timeline, time, Action.ROLLBACK, plan=plan.payload(table.folder, whole_logs=True))
    _take_back(table, rollback, target, logs)


def finish_undo(table: MetadataTable, rollback: Instant, target: Instant) -> None:
    """Carry a planned rollback out, from wherever a crash left it."""
    if rollback.state is State.REQUESTED:
        rollback = transition(table.timeline, rollback, State.INFLIGHT)
    _take_back(table, rollback, target, _logs_with_blocks_of(table, target))


def _take_back(table: MetadataTable, rollback: Instant, target: Instant, logs: Iterable[_Log]) -> None:
    timeline = table.timeline
    outcomes: dict[str, PartitionOutcome] = {}
    for base_instant, log in logs:
        command, size = _cancel(table, base_instant, log, rollback.timestamp, target.timestamp)
        outcome = outcomes.setdefault(log.partition, PartitionOutcome())
        outcome.command_logs[command] = size
        outcome.cancelled_logs[resolve(table.folder, log.relative_path)] = log.size
    # the completed file first: from then on nobody counts its blocks, and a crash leaves a pending instant
    for state in (State.COMPLETED, State.INFLIGHT, State.REQUESTED):
        table.storage.delete(timeline.path(target.at(state)))
    done = RollbackRecord(by=rollback.timestamp, target=target, outcomes=outcomes)
    complete(timeline, rollback, done.payload(), table.clock)


def commits_at(table: MetadataTable, time: str) -> list[Instant]:
    """The commits of an instant, in whatever state."""
    return [one for one in table.timeline.find(time) if one.comparable_action in COMMITS]


def blocks_of(time: str, partition: str, changes: PartitionChanges) -> bytes:
    """A data block, then a delete block, of those that have something in them.

    :param partition: the directory.
    """
    headers = {HeaderKey.SCHEMA: STORED_TEXT, HeaderKey.INSTANT_TIME: time}
    blocks = []
    if len(changes.keys):
        content = write_hfile(changes.cells(), file_info={b"schema": STORED_TEXT.encode()})
        blocks.append(encode_block(BlockType.HFILE_DATA_BLOCK, headers, content))
    if len(changes.deleted):
        content = encode_delete_records(changes.deleted.cast(pa.string()), partition, None)
        blocks.append(encode_block(BlockType.DELETE_BLOCK, headers, content))
    return b"".join(blocks)


def _logs_with_blocks_of(table: MetadataTable, target: Instant) -> list[_Log]:
    """Log files, by their slices, with a block of a commit that no command has taken back.

    A completed commit names its logs: none before the first of them in a slice has a block of it.
    """
    written = table.timeline.written_files(target, table.clock) if target.is_completed else ()
    named = {join(one.partition, one.name) for one in written}
    found: list[_Log] = []
    for partition in table.partitions:
        for group in table.view(partition).all_groups():
            for one in group.slices:
                logs = dropwhile(lambda log: log.relative_path not in named, one.log_files) if named else one.log_files
                found += ((one.base_instant, log) for log in _uncancelled(table, logs, target.timestamp))
    return found


def _uncancelled(table: MetadataTable, logs: Iterable[LogFile], instant: str) -> list[LogFile]:
    found: list[LogFile] = []
    for log in logs:
        with ExitStack() as stack:
            file = stack.enter_context(table.open_file(resolve(table.folder, log.relative_path)))
            for block in parse_blocks(file):
                if block.is_rollback and block.target_instant == instant:
                    found.clear()
                elif block.type is not BlockType.COMMAND_BLOCK and block.instant == instant and log not in found:
                    found.append(log)
    return found


def _cancel(table: MetadataTable, base_instant: str, log: LogFile, rollback: str, target: str) -> tuple[str, int]:
    """A log file whose only block takes the target's blocks back; its path and size."""
    view = table.view(table.timeline.format.metadata.by_path[log.partition])
    version = view.log_versions[(log.partition, log.name.file_id, base_instant)] + 1
    name = table.config.format.log_file(
        log.name.file_id,
        base_instant=base_instant,
        instant=rollback,
        version=version,
        write_token=UNKNOWN_WRITE_TOKEN,
    )
    data = command_block(rollback, target)
    path = resolve(table.folder, join(log.partition, str(name)))
    table.storage.create(path, data)
    return path, len(data)
