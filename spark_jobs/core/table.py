"""HudiTable: opens or creates a table and wires its parts; little logic of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, Unpack

import pyarrow as pa

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys import lock as lock_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.keys import write as write_keys
from spark_jobs.core.config.table_config import TableConfig, create_table_config, read_table_config
from spark_jobs.core.create import NewTable, new_table_properties
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.instant_time import query_instant
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.index.from_metadata import IndexesOfMetadata
from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.core.locks.folder import lock_folder
from spark_jobs.core.metadata_table.index_settings import refuse_record_index_of
from spark_jobs.core.metadata_table.listing import MetadataListing
from spark_jobs.core.metadata_table.writer import MetadataWriter, metadata_writer_of
from spark_jobs.core.read.bootstrap import BootstrapReader
from spark_jobs.core.read.data_skipping import DataSkipping
from spark_jobs.core.read.partition_pruning import PartitionPruning
from spark_jobs.core.read.retained import refuse_cleaned
from spark_jobs.core.read.retried import retried
from spark_jobs.core.read.scan import Query, Scan, full_schema_of
from spark_jobs.core.read.slice_keys import SliceKeys
from spark_jobs.core.read.snapshot import Snapshot
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.storage import RelativePath, Storage
from spark_jobs.core.storage.confined import beside
from spark_jobs.core.timeline.active import ActiveTimeline, load_timeline
from spark_jobs.core.timeline.archived import ArchivedTimeline
from spark_jobs.core.transaction.heartbeat import HeartbeatSettings
from spark_jobs.core.transaction.rules import ConflictRules
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView, PendingServices
from spark_jobs.core.view.listing import Listing
from spark_jobs.core.view.written_files import Parts
from spark_jobs.core.writes import TableWrites, refuse_one_text

T = TypeVar("T")
_READS = 5


@dataclass
class HudiTable(TableWrites):
    """A table as it stood when it was opened; :meth:`refreshed` opens it anew.

    Safe to use in one thread. Nothing is read before it is asked for, but for ``hoodie.properties``. Where another
    process takes a plan or a write back whose content is asked for, the timeline is loaded anew.

    ``url`` is whole, by which ``lake`` finds it again; ``base_path`` is what ``storage`` takes.
    """

    lake: Lake
    url: str
    storage: Storage
    base_path: str
    config: TableConfig
    lists_storage: bool = False
    earlier: ActiveTimeline | None = field(default=None, repr=False, compare=False)
    """One that was loaded before: what was read of the archive then is not read again."""
    taken_back: tuple[Instant, ...] = ()
    """Pending instants that this table is seen without."""
    loaded: ActiveTimeline | None = field(default=None, repr=False, compare=False)
    """The timeline to begin with, in place of the one on storage."""
    _snapshot: Snapshot | None = field(default=None, init=False, repr=False, compare=False)

    @staticmethod
    def open(
        url: str,
        *,
        lake: Lake = LAKE,
        storage_options: Mapping[str, str] | None = None,
        lists_storage: bool = False,
    ) -> HudiTable:
        """
        :param url: of the base path; or a path of this machine.
        :param storage_options: how a store of objects is reached (``aws_region``, ``aws_endpoint_url``, ...): see
            :meth:`Lake.reached_by`; what they don't say comes from the environment.
        :param lists_storage: look for files on storage even where the table has a metadata table that lists them:
            writers and table services want to know what unfinished writes left, and how long logs really are.
        :raises TableNotFoundError: no table there.
        :raises CorruptTableError: its properties are unreadable.
        :raises UnsupportedTableError: a table version that this release does not know.
        :raises StorageError: the lake has no storage for the URL.
        """
        lake = lake.reached_by(storage_options)
        place = lake.place(url)
        storage, base_path = place.confined(), place.path
        config = read_table_config(storage, base_path, lake.clock)
        config.format  # noqa: B018  (refuses other versions now, not at the first use)
        return HudiTable(lake, place.url, storage, base_path, config, lists_storage)

    @staticmethod
    def create(
        url: str,
        *,
        lake: Lake = LAKE,
        storage_options: Mapping[str, str] | None = None,
        **asked: Unpack[NewTable],
    ) -> HudiTable:
        """Make an empty table of version 6, with the properties that Hudi's Spark writer leaves.

        :param asked: what it is to be, by the names of :class:`~spark_jobs.core.create.NewTable`.
        :raises ConfigError: a missing name or key, or a field that the schema lacks.
        :raises AlreadyExistsError: a table stands there.
        """
        return HudiTable.initialise(url, new_table_properties(**asked), lake=lake.reached_by(storage_options))

    @staticmethod
    def initialise(url: str, properties: Mapping[str, str], *, lake: Lake = LAKE) -> HudiTable:
        """Make an empty table with these properties and the checksum.

        :raises AlreadyExistsError: a table stands there.
        """
        place = lake.place(url)
        storage = place.confined()
        config = create_table_config(storage, place.path, properties, lake.clock)
        return HudiTable(lake, place.url, storage, place.path, config)

    @property
    def clock(self) -> Clock:
        return self.lake.clock

    def refreshed(self, storage: Storage | None = None) -> HudiTable:
        """The same table as it stands now.

        :param storage: by which it is reached from now on: that of the table lock while it is held.
        """
        storage = storage or self.storage
        config = read_table_config(storage, self.base_path, self.clock)
        config.format  # noqa: B018  (as when it was opened)
        earlier = self._snapshot.timeline if self._snapshot is not None else self.loaded or self.earlier
        return replace(self, storage=storage, config=config, earlier=earlier, taken_back=(), loaded=None)

    def without(self, pending: Collection[Instant]) -> HudiTable:
        """The table as it will stand when pending instants are taken back: nobody asks for their plans and times. Their
        files are there still.
        """
        taken_back = (*self.taken_back, *pending)
        return replace(self, taken_back=taken_back, loaded=self.timeline.without(pending))

    @property
    def timeline(self) -> ActiveTimeline:
        return self._now.timeline

    @property
    def _now(self) -> Snapshot:
        """What was read of the table until now."""
        if self._snapshot is None:
            self._snapshot = Snapshot(
                storage=self.storage,
                base_path=self.base_path,
                config=self.config,
                clock=self.clock,
                timeline=self.loaded or self._load_timeline(),
                heartbeats=self.heartbeats,
                lists_storage=self.lists_storage,
            )
        return self._snapshot

    def _load_timeline(self) -> ActiveTimeline:
        timeline = load_timeline(self.storage, self.base_path, self.config)
        if self.earlier is not None:
            timeline.archive.take_over(self.earlier.archive)
        return timeline.without(self.taken_back) if self.taken_back else timeline

    def _retried(self, work: Callable[[], T]) -> T:
        """Do what reads the timeline, anew with all that was read before where another process took something back."""

        def refresh() -> None:
            self._snapshot = self.loaded = None

        return retried(work, refresh, _READS - 1)

    def archived_timeline(self, begin: str = "", end: str | None = None) -> ArchivedTimeline:
        """The instants that left the active timeline, from ``begin`` to ``end`` (both inclusive): with it, all history.

        One that is leaving just now may be in both.
        """
        return ArchivedTimeline.load(self.timeline.archive_place, begin, end)

    @property
    def pending(self) -> PendingServices:
        return self._retried(lambda: self._now.pending)

    @property
    def avro_schema(self) -> dict[str, Any]:
        """Avro record schema without meta columns.

        :raises ConfigError: an empty table that was made without a schema.
        """
        return self._now.avro_schema

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema without meta columns."""
        return arrow_schema_of(self.avro_schema)

    def avro_schema_at(self, until: str | None) -> dict[str, Any]:
        """The schema as of an instant (inclusive; None: now)."""
        return self._now.avro_schema_at(until)

    def known_avro_schema(self, until: str | None = None) -> dict[str, Any] | None:
        """As :meth:`avro_schema_at`, or None for a table that has no schema yet."""
        return self._now.known_avro_schema(until)

    def evolution_at(self, until: str | None = None) -> SchemaEvolution | None:
        """The history of the schema as of an instant (inclusive; None: now), where the table has one."""
        return self._now.evolution_at(until)

    def partitions(self) -> list[RelativePath]:
        """Relative paths of all partitions, sorted; ``[""]`` for a table without partition columns."""
        return self.listing.partitions()

    @property
    def listing(self) -> Listing:
        """Where partitions and files are looked up: the metadata table where it lists files, else the storage."""
        return self._now.listing

    @property
    def metadata_listing(self) -> MetadataListing | None:
        """That of the metadata table where it lists files, whatever :attr:`listing` is."""
        return self._now.metadata_listing

    def view(self, partitions: Sequence[str] | None = None, until: str | None = None) -> FileSystemView:
        """File groups and slices of some partitions (None: all), as of an instant (inclusive; None: now)."""
        return self._retried(lambda: self._now.view(partitions, until))

    def proves_committed(self, partition: str, name: str, instant: str) -> bool:
        """Whether a write was completed of which neither archive nor rollbacks know: a later commit built on a file of
        it, or the metadata table lists this one.
        """
        return self._now.proves_committed(partition, name, instant)

    def file_slices(self, partition: str | None = None, as_of: str | None = None) -> list[FileSlice]:
        """The latest slices, as a snapshot query sees them.

        :raises CorruptTableError: a file that a completed write left is gone, or has not its length.
        """
        return self._retried(
            lambda: self.slices_to_read(self._now.view(None if partition is None else [partition], as_of))
        )

    def slices_to_read(self, view: FileSystemView) -> list[FileSlice]:
        """The latest slices of a view of this table, checked: :meth:`checked`."""
        return self.checked_of(view, view.latest_slices())

    def checked_of(
        self, view: FileSystemView, slices: Sequence[FileSlice], parts: Parts = Parts.ALL
    ) -> list[FileSlice]:
        """:meth:`checked` of what a query reads of a view, beside which no file group is gone as a whole: of a metadata
        table it is found missing when it is opened, a listing of the storage says nothing of it.

        :raises CorruptTableError: as :meth:`checked`, or all files of a file group are gone.
        """
        return self._now.checked_of(view, slices, parts)

    def checked(
        self, slices: Sequence[FileSlice], until: str | None = None, parts: Parts = Parts.ALL
    ) -> list[FileSlice]:
        """The slices with what completed writes put into their logs, for who reads them to compare.

        Of those that the metadata table lists, the ones with logs alone are looked up: it names every file, so a lost
        one is found missing, and a base file has the length that it says.

        :raises CorruptTableError: a file that a completed write left is gone, or has not its length.
        """
        return self._now.checked(slices, until, parts)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Any = None,
        as_of: str | None = None,
        begin: str | None = None,
        end: str | None = None,
        query: str = "snapshot",
        partitions: Sequence[str] | None = None,
    ) -> Scan:
        """A query that reads nothing before ``to_arrow`` or ``batches``.

        :param columns: names in the wanted order; without them the five meta columns, then the table's own.
        :param filter: a ``pyarrow.compute`` expression over any columns.
        :param as_of: an instant (inclusive), in any spelling that :func:`query_instant` knows; ``begin`` and ``end``
            too.
        :param begin: exclusive, ``end`` inclusive: the commit times of an incremental query.
        :param query: snapshot, read_optimized or incremental.
        :param partitions: relative paths; no other partition is looked at.
        :raises ConfigError: an unknown query, a bound that it has not, an incremental one without ``begin``, a text for
            a list, or a moment of which cleaning removed files.
        """
        kind = Query.parse(query)
        if kind is Query.INCREMENTAL and begin is None:
            raise ConfigError("an incremental query needs begin", todo='give begin="000" to read from the start')
        bounds = {"begin": begin, "end": end} if kind is not Query.INCREMENTAL else {"as_of": as_of}
        unused = next((name for name, value in bounds.items() if value is not None), None)
        if unused is not None:
            raise ConfigError(
                f"a {kind.value} query has no {unused}",
                todo="give begin and end" if kind is Query.INCREMENTAL else 'give query="incremental", or as_of',
            )
        refuse_one_text(partitions)
        return self._retried(lambda: self._scan(columns, filter, as_of, begin, end, kind, partitions))

    def _scan(
        self,
        columns: Sequence[str] | None,
        filter: Any,
        as_of: str | None,
        begin: str | None,
        end: str | None,
        kind: Query,
        partitions: Sequence[str] | None,
    ) -> Scan:
        asked, now = end if kind is Query.INCREMENTAL else as_of, self._now
        until = None if asked is None else query_instant(asked)
        if until is not None:
            refuse_cleaned(now.timeline, lambda: now.view(None, None), until, self.clock)
        schema_of = None if kind is Query.INCREMENTAL else until  # of a range in today's schema, as Hudi gives it
        avro_schema = now.known_avro_schema(schema_of) or now.avro_schema  # before the first commit: no rows
        evolution = now.evolution_at(schema_of)
        if partitions is None:
            partitions = self._partitions_with(filter, avro_schema, evolution, until)
        return Scan(
            lake=self.lake,
            storage=self.storage,
            base_path=self.base_path,
            config=self.config,
            avro_schema=avro_schema,
            view=now.view(partitions, until),
            query=kind,
            columns=None if columns is None else tuple(columns),
            condition=filter,
            begin=None if begin is None else query_instant(begin),
            end=until,
            evolution=evolution,
            skipping=self._skipping(),
            checked=now.checked_of,
        )

    def _partitions_with(
        self, condition: Any, avro_schema: Mapping[str, Any], evolution: SchemaEvolution | None, until: str | None
    ) -> list[str] | None:
        """The partitions that may have rows of a condition; None for all, and where a column may be another by name.
        Those too that completed writes name and the storage has no longer, so that what they lost is found missing.
        """
        if evolution is not None:
            return None
        pruning = PartitionPruning.of(self.config, full_schema_of(self.config, avro_schema), condition)
        if pruning is None:
            return None
        there, now = pruning.partitions(self.listing), self._now
        return sorted({*there, *pruning.keep(sorted(now.written_partitions(until) - set(there)))})

    def _skipping(self) -> DataSkipping | None:
        """The column statistics of the metadata table, where it has them."""
        if self.lists_storage or not self.config.lists(MetadataPartition.COLUMN_STATS):
            return None
        return DataSkipping(storage=self.storage, base_path=self.base_path, timeline=self.timeline, clock=self.clock)

    def metadata_indexes(self) -> IndexesOfMetadata:
        """What its metadata table knows of keys; nothing where it has none that is readable."""
        return IndexesOfMetadata.of(self.storage, self.base_path, self.config, self.timeline, self.clock)

    def bootstrap_reader(self) -> BootstrapReader | None:
        """How base files are read that a bootstrap left; None for a table that was not bootstrapped.

        :raises UnsupportedTableError: one with another kind of index.
        """
        return BootstrapReader.of(self.lake, self.storage, self.base_path, self.config)

    @property
    def heartbeats(self) -> HeartbeatSettings:
        """After how long a writer counts as dead that says nothing of it: a reader needs no writer's settings."""
        return _heartbeats({})

    def transaction_settings(
        self, properties: Mapping[str, str], metadata_writer: MetadataWriter | None = None
    ) -> TransactionSettings:
        """How this table is guarded, by the ``hoodie.*`` values of a job.

        :raises ConfigError: they name a lock that is not taken here, or a function that can't be found.
        """
        storage, named = self.storage, lock_keys.LOCK_PATH.of(properties)
        if named:
            named = lock_folder(named, self.base_path)
            storage, properties = beside(storage, named), {**properties, lock_keys.LOCK_PATH.name: named}
        return TransactionSettings(
            lake=self.lake,
            url=self.url,
            storage=storage,
            base_path=self.base_path,
            config=self.config,
            lock=self.lake.choose_lock(
                {table_keys.NAME.name: self.config.name, **properties}, storage, f"{self.base_path}/{META_FOLDER}"
            ),
            heartbeat=_heartbeats(properties),
            metadata_writer=metadata_writer or self._metadata_writer(properties),
            rules=ConflictRules.of(properties),
        )

    def _metadata_writer(self, properties: Mapping[str, str]) -> MetadataWriter:
        merged_keys = SliceKeys(lake=self.lake, storage=self.storage, base_path=self.base_path, config=self.config)
        refuse_record_index_of(self.config, properties)
        return metadata_writer_of(properties, merged_keys)


def _heartbeats(properties: Mapping[str, str]) -> HeartbeatSettings:
    return HeartbeatSettings(
        interval_ms=write_keys.HEARTBEAT_INTERVAL.of(properties), misses=write_keys.HEARTBEAT_MISSES.of(properties)
    )
