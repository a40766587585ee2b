"""Updates of the metadata table before an action of the data table completes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys import metadata as metadata_keys
from spark_jobs.core.config.keys import table as keys
from spark_jobs.core.config.table_config import TableConfig, read_table_config, update_table_config
from spark_jobs.core.errors import CorruptTableError, TableNotFoundError, UnsupportedTableError
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.changes import FileChanges, changes_of, encode_changes
from spark_jobs.core.metadata_table.commit import commit_changes, commits_at, undo_commit
from spark_jobs.core.metadata_table.index_build import PartitionSource
from spark_jobs.core.metadata_table.index_settings import IndexSettings, index_settings_of
from spark_jobs.core.metadata_table.indexes import (
    BloomFilterIndex,
    ColumnStatsIndex,
    Index,
    IndexedTable,
    IndexOfFiles,
    newest_schema,
    top_columns,
)
from spark_jobs.core.metadata_table.initialize import add_partition, has_reserved_partition, initialize, is_quiet
from spark_jobs.core.metadata_table.layout import metadata_path
from spark_jobs.core.metadata_table.partition_changes import PartitionChanges
from spark_jobs.core.metadata_table.record_indexer import RecordIndexer
from spark_jobs.core.metadata_table.record_keys import KeySource, MergedKeys
from spark_jobs.core.metadata_table.recovery import is_built_in, is_compacted, recover
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.payloads.payload import Kind, Payload
from spark_jobs.core.timeline.payloads.shapes import shaped
from spark_jobs.core.timeline.results import RollbackResult

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """An action that is about to complete: ``payload`` is what its completed file is going to hold.

    ``timeline`` is that of the data table, loaded under the lock.
    """

    storage: Storage
    base_path: str
    clock: Clock
    timeline: ActiveTimeline
    instant: Instant
    payload: Payload


class MetadataWriter(Protocol):
    """Called under the table lock, before the completed file of any action is written."""

    def before_publish(self, publication: Publication) -> None: ...


def take_off(storage: Storage, base_path: str, clock: Clock) -> None:
    """Take a metadata table off; the caller holds the table lock.

    The names leave ``hoodie.properties`` first: from then on nobody trusts the directory, which goes next. Hudi builds
    the table anew from a listing at its next write.
    """
    config = read_table_config(storage, base_path, clock)
    listed = (keys.METADATA_PARTITIONS, keys.METADATA_PARTITIONS_INFLIGHT)
    if any(key.of(config.properties) for key in listed):
        update_table_config(storage, base_path, {key.name: "" for key in listed}, clock)
    storage.delete_tree(metadata_path(base_path))


class TakeOffMetadataWriter:
    """Takes a listed metadata table off, so that no reader looks for the new files in it and misses them."""

    def before_publish(self, publication: Publication) -> None:
        take_off(publication.storage, publication.base_path, publication.clock)


@dataclass(frozen=True, slots=True)
class UpdatingMetadataWriter:
    """Writes the delta commit that goes with each action, and makes or remakes the table where that is needed.

    Readers count the delta commit only once the action itself is completed. One that is damaged, that misses a commit
    of the data table, or that can't follow an action is taken off; it is made anew as soon as nothing else is under
    way, unless a partition has the name of its list of partitions. Hudi: HoodieBackedTableMetadataWriter.
    """

    indexes: IndexSettings = field(default_factory=IndexSettings)
    merged_keys: MergedKeys | None = None

    def before_publish(self, publication: Publication) -> None:
        if has_reserved_partition(publication.storage, publication.base_path):
            TakeOffMetadataWriter().before_publish(publication)
            return
        config = self._without_other_partitions(publication)
        listed = _listed(config)
        if MetadataPartition.FILES in listed and self._keep_up(publication, listed):
            return
        TakeOffMetadataWriter().before_publish(publication)
        changes = changes_of(publication.instant, publication.payload)
        if changes is not None and is_quiet(publication.timeline, publication.instant.timestamp):
            self._make(publication, changes)

    def _make(self, publication: Publication, changes: FileChanges) -> None:
        storage, base_path, clock = publication.storage, publication.base_path, publication.clock
        config = read_table_config(storage, base_path, clock)
        try:
            initialize(storage, base_path, config, publication.timeline, clock, changes)
        except CorruptTableError as error:
            # readers list the storage, and name the file; each write says it again until it is repaired
            _LOG.warning(
                "warning: the table at %s stays without the metadata table that hoodie.metadata.enable asks for, which "
                "would hide a damaged file: %s",
                base_path,
                error,
            )
            return
        table = MetadataTable.open(storage, base_path, publication.timeline, clock)
        self._write(publication, table, changes, listed=(MetadataPartition.FILES,))

    def _keep_up(self, publication: Publication, listed: Collection[MetadataPartition]) -> bool:
        """Bring the metadata table to the state after the action; False where that can't be done."""
        try:
            return self._update(publication, listed)
        except (CorruptTableError, TableNotFoundError, UnsupportedTableError):
            return False  # as good as none

    def _update(self, publication: Publication, listed: Collection[MetadataPartition]) -> bool:
        instant = publication.instant
        changes = changes_of(instant, publication.payload)
        if changes is None:
            return False
        table = MetadataTable.open(publication.storage, publication.base_path, publication.timeline, publication.clock)
        table = recover(table, own=instant.timestamp)
        if instant.action is not Action.ROLLBACK:
            self._write(publication, table, changes, listed)
            return True
        rolled_back = RollbackResult.of(shaped(publication.payload.record, instant.at(State.COMPLETED))).rolled_back
        by_keys = MetadataPartition.RECORD_INDEX in listed
        if any(_stays_listed(table, target, by_keys=by_keys) for target in rolled_back):
            return False
        self._write(publication, table, changes, listed)
        return all(self._undo(table.reloaded(), target, instant.timestamp) for target in rolled_back)

    def _write(
        self,
        publication: Publication,
        table: MetadataTable,
        changes: FileChanges,
        listed: Collection[MetadataPartition],
    ) -> None:
        """:param listed: the partitions that the table has already, by ``hoodie.properties``."""
        encoded = {MetadataPartition.FILES: PartitionChanges.of(encode_changes(changes))}
        quiet = is_quiet(publication.timeline, publication.instant.timestamp)
        building = _being_built(publication) if quiet else frozenset()
        now = table
        for partition, source in self._sources(publication, table):
            if partition not in listed:
                if not quiet or self.indexes.made_by_jobs or table.path_of(partition) in building:
                    continue
                _make_partition(table, partition, source)
                now = table.reloaded()
            encoded[partition] = source.changes(publication.instant, publication.payload)
        commit_changes(now, publication.instant.timestamp, encoded)

    def _sources(
        self, publication: Publication, table: MetadataTable
    ) -> Iterator[tuple[MetadataPartition, PartitionSource]]:
        for index in _indexes(publication, self.indexes):
            yield index.partition, IndexOfFiles(table=table, index=index)
        if self.indexes.record_index is not None:
            if self.merged_keys is None:
                raise TypeError("a record index needs to know how slices are merged")
            source = KeySource(
                storage=publication.storage,
                base_path=publication.base_path,
                timeline=publication.timeline,
                merged=self.merged_keys,
            )
            yield (
                MetadataPartition.RECORD_INDEX,
                RecordIndexer(table=table, source=source, settings=self.indexes.record_index),
            )

    def source_of(self, partition: MetadataPartition, table: MetadataTable) -> PartitionSource:
        """What a partition that this writer keeps holds, as of the data timeline of ``table``.

        :raises KeyError: it keeps no such partition.
        """
        last = table.data_timeline.instants[-1]
        seen = Publication(
            storage=table.storage,
            base_path=table.base_path,
            clock=table.clock,
            timeline=table.data_timeline,
            instant=Instant(last.timestamp, Action.INDEXING, State.INFLIGHT),
            payload=Payload(Kind.INDEX, {}),
        )
        return dict(self._sources(seen, table))[partition]

    def _undo(self, table: MetadataTable, target: str, rollback: str) -> bool:
        if is_compacted(table, target):
            return False
        for one in commits_at(table, target):
            undo_commit(table, one, table.timeline.format.metadata.own_time(rollback, Action.ROLLBACK))
        return True

    def _without_other_partitions(self, publication: Publication) -> TableConfig:
        """Take off the partitions that would fall behind, as Hudi does with those that its writer does not ask for."""
        storage, base_path = publication.storage, publication.base_path
        config = read_table_config(storage, base_path, publication.clock)
        layout = config.format.metadata
        kept = {layout.path(one) for one in layout.names if one in self.indexes.kept_partitions}
        others = [one for one in config.metadata_partitions if one not in kept]
        if not others:
            return config
        left = ",".join(one for one in config.metadata_partitions if one in kept)
        config = update_table_config(storage, base_path, {keys.METADATA_PARTITIONS.name: left}, publication.clock)
        for path in layout.by_path:
            if path in others:
                storage.delete_tree(f"{metadata_path(base_path)}/{path}")
        return config


def _stays_listed(table: MetadataTable, target: str, *, by_keys: bool) -> bool:
    """Whether base files of the metadata table have what a write did that is rolled back, and no delta commit of it can
    be taken back for all of that: the table was made from a listing after the write.

    :param by_keys: it has a record index; which keys the write added or removed is recorded nowhere else.
    """
    return is_built_in(table, target) and (by_keys or not commits_at(table, target))


def _make_partition(table: MetadataTable, partition: MetadataPartition, source: PartitionSource) -> None:
    """Make a partition from the table as it is listed."""
    groups, cells = source.content()
    storage, base_path, clock = table.storage, table.base_path, table.clock
    add_partition(storage, base_path, table.data_timeline, clock, partition, cells, groups=groups)


def _listed(config: TableConfig) -> frozenset[MetadataPartition]:
    """The partitions that readers trust, of those that this release knows."""
    return frozenset(one for one in config.format.metadata.names if config.lists(one))


def _being_built(publication: Publication) -> frozenset[str]:
    """The partitions that an indexing action makes just now."""
    if not publication.timeline.pending({Action.INDEXING}):
        return frozenset()
    config = read_table_config(publication.storage, publication.base_path, publication.clock)
    return frozenset(keys.METADATA_PARTITIONS_INFLIGHT.of(config.properties))


def _indexes(publication: Publication, settings: IndexSettings) -> list[Index]:
    table = IndexedTable(
        storage=publication.storage, base_path=publication.base_path, format=publication.timeline.format
    )
    found: list[Index] = []
    if settings.bloom_filter_groups:
        time = publication.instant.timestamp
        found.append(BloomFilterIndex(table=table, instant=time, groups=settings.bloom_filter_groups))
    if settings.column_stats_groups:
        columns = settings.columns or _columns_of(publication)
        found.append(ColumnStatsIndex(table=table, columns=columns, groups=settings.column_stats_groups))
    return found


def _columns_of(publication: Publication) -> tuple[str, ...]:
    """All columns of the commit that completes, or of the newest before it."""
    schema = ""
    if publication.instant.comparable_action in COMMITS:
        schema = CommitMetadata.of(publication.payload.record, str(publication.instant)).schema_text
    schema = schema or newest_schema(publication.timeline, publication.clock)
    return top_columns(schema) if schema else ()


def metadata_writer_of(properties: Mapping[str, str], merged_keys: MergedKeys) -> MetadataWriter:
    """The writer that a job's ``hoodie.metadata.enable`` asks for.

    :param merged_keys: how the record index reads slices with logs.
    """
    if not metadata_keys.METADATA_ENABLED.of(properties):
        return TakeOffMetadataWriter()
    return UpdatingMetadataWriter(index_settings_of(properties), merged_keys)
