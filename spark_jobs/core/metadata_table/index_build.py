"""Making an index beside running writers (Hudi: RunIndexActionExecutor, IndexingCatchupTask).

The files are written without the table lock, from the table as it stood at the start; what completes meanwhile is added
before the index is listed, the last of it under the lock. Until then its files count for nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from spark_jobs.core.errors import CorruptTableError, WriteConflictError
from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.format.instant import Action, Instant, State, in_order
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.commit import blocks_of, delta_commit_metadata
from spark_jobs.core.metadata_table.initialize import free_time, own_timeline
from spark_jobs.core.metadata_table.layout import metadata_path
from spark_jobs.core.metadata_table.partition_changes import PartitionChanges
from spark_jobs.core.metadata_table.partition_files import append_to_new_group, write_partition
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.timeline.steps import begin_at_once, complete
from spark_jobs.core.timeline.write_stat import WriteStat

_FOLLOWED = frozenset({*Action}) - {Action.INDEXING, Action.SAVEPOINT}


class PartitionSource(Protocol):
    """What a partition of the metadata table holds of the data table, as of a timeline of it."""

    def content(self) -> tuple[int, Callable[[int, str], Cells]]:
        """The number of file groups, and the cells of each one's base file, by its number and the file's name."""
        ...

    def changes(self, instant: Instant, payload: Payload) -> PartitionChanges:
        """What the next action changes; ``payload`` is that of its completed file."""
        ...


SourceOf = Callable[[MetadataPartition, MetadataTable], PartitionSource]


@dataclass(slots=True, kw_only=True)
class IndexBuild:
    """Partitions on their way: :meth:`write`, then :meth:`catch_up` as often as wanted, last :meth:`publish`.

    ``seen`` is the data table's timeline as far as the files follow it; ``time`` the instant of their delta commit.
    """

    partitions: tuple[MetadataPartition, ...]
    source_of: SourceOf
    table: MetadataTable
    seen: ActiveTimeline
    time: str = ""
    groups: dict[MetadataPartition, int] = field(default_factory=dict)
    stats: list[WriteStat] = field(default_factory=list)
    blocks: dict[tuple[MetadataPartition, int], list[bytes]] = field(default_factory=dict)

    def write(self) -> int:
        """Write the base files; the number of their records."""
        storage, base_path = self.table.storage, self.table.base_path
        if not any(one.is_completed for one in self.seen.instants):
            raise CorruptTableError("the table has no completed instant yet, so that there is nothing to index")
        self.time = free_time(own_timeline(storage, base_path, self.seen), self.seen)
        for partition in self.partitions:
            groups, cells = self._source(partition, self.table).content()
            self.groups[partition] = groups
            self.stats += write_partition(storage, base_path, self.seen.format, self.time, partition, cells, groups)
        return sum(stat.num_writes for stat in self.stats)

    def catch_up(self, table: MetadataTable) -> int:
        """Follow the actions that completed since, in memory; how many they were.

        :param table: with the timelines as they stand now.
        :raises WriteConflictError: something that the files were made from was undone.
        """
        now = table.data_timeline
        known = {one for one in self.seen.instants if one.is_completed and one.action in _FOLLOWED}
        there = {one for one in now.instants if one.is_completed}
        rolled_back = [one for one in known - there if not now.start or one.is_from(now.start)]
        if rolled_back:
            raise WriteConflictError(
                f"{in_order(rolled_back)[0]} was rolled back while its records were indexed",
                todo="run the indexing again",
                instant=in_order(rolled_back)[0].timestamp,
            )
        later = [one for one in there - known if one.action in _FOLLOWED]
        # compactions first: what was written on top of one is found once its base files count
        later = sorted(in_order(later), key=lambda one: not _is_compaction(now, one))
        for instant in later:
            payload = now.stored(instant)
            for partition in self.partitions:
                path = table.path_of(partition)
                changes = self._source(partition, table).changes(instant, payload)
                for group, share in changes.by_group(self.groups[partition]).items():
                    self.blocks.setdefault((partition, group), []).append(blocks_of(self.time, path, share))
            done = [one for one in self.seen.instants if one.is_completed and one in there]
            self.seen = _moved_on(self.seen, now, [*done, instant])
        return len(later)

    def publish(self, storage: Storage) -> None:
        """Complete the delta commit of the files; the caller holds the table lock and caught up under it.

        :param storage: that of the lock.
        :raises WriteConflictError: the files are gone: the metadata table was made anew meanwhile.
        """
        base_path = self.table.base_path
        for path in map(self.table.path_of, self.partitions):
            there = {one.name for one in storage.list(f"{metadata_path(base_path)}/{path}")}
            mine = {stat.file_name for stat in self.stats if stat.partition_path == path}
            if not there or mine - there:
                raise WriteConflictError(
                    f"the files of {path} are gone: another writer made the metadata table anew",
                    todo="run the indexing again",
                )
        own = own_timeline(storage, base_path, self.seen)
        inflight = begin_at_once(own, self.time, Action.DELTA_COMMIT)
        appended = [
            append_to_new_group(storage, base_path, own.format, self.time, partition, group, b"".join(blocks))
            for (partition, group), blocks in self.blocks.items()
        ]
        data = delta_commit_metadata((*self.stats, *appended), OperationType.BULK_INSERT)
        complete(own, inflight, data, self.table.clock)

    def _source(self, partition: MetadataPartition, table: MetadataTable) -> PartitionSource:
        return self.source_of(partition, replace(table, data_timeline=self.seen))


def _is_compaction(timeline: ActiveTimeline, instant: Instant) -> bool:
    plan = Instant(instant.timestamp, Action.COMPACTION, State.REQUESTED)
    return instant.action is Action.COMMIT and timeline.storage.stat(timeline.path(plan)) is not None


def _moved_on(before: ActiveTimeline, now: ActiveTimeline, done: Sequence[Instant]) -> ActiveTimeline:
    """The timeline with ``done`` as the completed instants; all others that it has are pending, as they were before or
    are now.
    """
    there = {one.timestamp for one in now.instants} - {one.timestamp for one in done}
    pending = {one.timestamp: one for one in (*before.instants, *now.instants) if not one.is_completed}
    waiting = (one for time, one in pending.items() if time in there)
    return replace(now, instants=tuple(in_order((*done, *waiting))))
