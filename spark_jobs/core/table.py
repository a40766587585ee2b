"""HudiTable: opens or creates a table and wires its parts; little logic of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.config import table_keys as keys
from spark_jobs.core.config import write_keys
from spark_jobs.core.config.table_config import TableConfig, create_table_config, read_table_config
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.files.avro_schema import arrow_schema_of
from spark_jobs.core.files.partition_metafile import list_partitions
from spark_jobs.core.metadata_table.writer import MetadataWriter, TakeOffMetadataWriter
from spark_jobs.core.read.scan import Query, Scan
from spark_jobs.core.read.table_schema import committed_schema, schema_of_file
from spark_jobs.core.storage import FileStatus, Storage, locate
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.instant import query_instant
from spark_jobs.core.transaction.heartbeat import HeartbeatSettings
from spark_jobs.core.transaction.lock import LockSettings
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView, PendingServices, build_view
from spark_jobs.core.view.pending import read_pending_services
from spark_jobs.core.view.visibility import Visibility


@dataclass
class HudiTable:
    """A table as it stood when it was opened; :meth:`refreshed` looks again.

    Safe to use in one thread. Nothing is read before it is asked for, but for ``hoodie.properties``.
    """

    storage: Storage
    base_path: str
    config: TableConfig
    clock: Clock = SYSTEM_CLOCK

    @staticmethod
    def open(path: str, clock: Clock = SYSTEM_CLOCK) -> HudiTable:
        """
        :raises TableNotFoundError: no table there.
        :raises CorruptTableError: its properties are unreadable.
        :raises UnsupportedTableError: a table version that this release does not know.
        """
        storage, base_path = locate(path)
        config = read_table_config(storage, base_path, clock)
        config.capabilities  # noqa: B018  (refuses other versions now, not at the first use)
        return HudiTable(storage, base_path, config, clock)

    @staticmethod
    def create(
        path: str,
        *,
        name: str,
        table_type: str = "COPY_ON_WRITE",
        record_key_fields: Sequence[str],
        partition_fields: Sequence[str] = (),
        precombine_field: str = "",
        payload_class: str = "",
        hive_style: bool = False,
        url_encode: bool = False,
        key_generator_class: str = "",
        properties: Mapping[str, str] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> HudiTable:
        """Make an empty table of version 6, with the properties that Hudi's Spark writer leaves.

        :raises ConfigError: a missing name or key.
        :raises AlreadyExistsError: a table stands there.
        """
        if not name:
            raise ConfigError("a new table needs a name", todo="give --table-name or hoodie.table.name")
        if not record_key_fields:
            raise ConfigError("a new table needs record key fields", todo="give --record-key-fields")
        storage, base_path = locate(path)
        kind = keys.TYPE.of({keys.TYPE.name: table_type})
        values = {
            keys.NAME.name: name,
            keys.DATABASE.name: "",
            keys.TYPE.name: kind.value,
            keys.VERSION.name: "6",
            keys.LAYOUT_VERSION.name: "1",
            keys.RECORD_KEY_FIELDS.name: ",".join(record_key_fields),
            keys.PARTITION_FIELDS.name: ",".join(partition_fields),
            keys.BASE_FILE_FORMAT.name: "PARQUET",
            keys.ARCHIVE_FOLDER.name: "archived",
            keys.POPULATE_META_FIELDS.name: "true",
            keys.KEY_GENERATOR_CLASS.name: key_generator_class,
            keys.TIMEZONE.name: "LOCAL",
            keys.METAFILE_BASE_FORMAT.name: "false",
            keys.DROP_PARTITION_COLUMNS.name: "false",
            keys.HIVE_STYLE.name: str(hive_style).lower(),
            keys.URL_ENCODE.name: str(url_encode).lower(),
            keys.CDC_ENABLED.name: "false",
        }
        if precombine_field:
            values[keys.PRECOMBINE_FIELD.name] = precombine_field
        if kind is keys.TableType.MERGE_ON_READ:
            values[keys.PAYLOAD_CLASS.name] = payload_class or keys.OVERWRITE_WITH_LATEST
            values[keys.MERGER_STRATEGY.name] = keys.DEFAULT_MERGER_STRATEGY
        elif payload_class:
            values[keys.PAYLOAD_CLASS.name] = payload_class
        values.update(properties or {})
        return HudiTable(storage, base_path, create_table_config(storage, base_path, values, clock), clock)

    def refreshed(self) -> HudiTable:
        """The same table as it stands now."""
        return HudiTable.open(self.base_path, self.clock)

    @cached_property
    def timeline(self) -> ActiveTimeline:
        return self.transaction_settings({}).load_timeline()

    @cached_property
    def pending(self) -> PendingServices:
        return read_pending_services(self.timeline, self.clock)

    @cached_property
    def avro_schema(self) -> dict[str, Any]:
        """Avro record schema without meta columns.

        :raises ConfigError: an empty table that was made without a schema.
        """
        return self.avro_schema_at(None)

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema without meta columns."""
        return arrow_schema_of(self.avro_schema)

    def avro_schema_at(self, until: str | None) -> dict[str, Any]:
        """The schema as of an instant (inclusive; None: now)."""
        found = self.known_avro_schema(until)
        if found is None:
            raise ConfigError(
                f"table {self.config.name} has no schema yet", todo="write to it first", table=self.config.name
            )
        return found

    def known_avro_schema(self, until: str | None = None) -> dict[str, Any] | None:
        """As :meth:`avro_schema_at`, or None for a table that has no schema yet."""
        found = committed_schema(self.timeline, self.config, self.clock, until)
        if found is None:
            bases = self.view(until=until).latest_base_files()
            found = schema_of_file(self.storage, self.base_path, bases[0], self.config.name) if bases else None
        return found

    def partitions(self) -> list[str]:
        """Relative paths of all partitions, sorted; ``[""]`` for a table without partition columns."""
        return list_partitions(self.storage, self.base_path)

    def view(self, partitions: Sequence[str] | None = None, until: str | None = None) -> FileSystemView:
        """File groups and slices of some partitions (None: all), as of an instant (inclusive; None: now)."""
        # the timeline comes before the listing: a commit that lands in between stays unseen as a whole
        visibility, pending = Visibility.of(self.timeline, until), self.pending
        wanted = self.partitions() if partitions is None else partitions
        files = ((partition, status) for partition in wanted for status in self._list(partition))
        return build_view(files, visibility, pending)

    def file_slices(self, partition: str | None = None, as_of: str | None = None) -> list[FileSlice]:
        """The latest slices, as a snapshot query sees them."""
        return list(self.view(None if partition is None else [partition], as_of).latest_slices())

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Any = None,
        as_of: str | None = None,
        begin: str | None = None,
        end: str | None = None,
        query: str = "snapshot",
    ) -> Scan:
        """A query that reads nothing before ``to_arrow`` or ``batches``.

        :param columns: names in the wanted order; without them the five meta columns, then the table's own.
        :param filter: a ``pyarrow.compute`` expression over any columns.
        :param as_of: an instant (inclusive), in any spelling that :func:`query_instant` knows; ``begin`` and ``end``
            too.
        :param begin: exclusive, ``end`` inclusive: the commit times of an incremental query.
        :param query: snapshot, read_optimized or incremental.
        :raises ConfigError: an unknown query, or an incremental one without ``begin``.
        """
        kind = Query.parse(query)
        if kind is Query.INCREMENTAL and begin is None:
            raise ConfigError("an incremental query needs begin", todo='give begin="000" to read from the start')
        asked = end if kind is Query.INCREMENTAL else as_of
        until = None if asked is None else query_instant(asked)
        view = self.view(until=until)
        return Scan(
            storage=self.storage,
            base_path=self.base_path,
            config=self.config,
            avro_schema=self.known_avro_schema(until)
            or self.avro_schema,  # before the first commit: no rows, in today's
            view=view,
            query=kind,
            columns=None if columns is None else tuple(columns),
            condition=filter,
            begin=None if begin is None else query_instant(begin),
            end=until,
        )

    def transaction_settings(
        self, properties: Mapping[str, str], metadata_writer: MetadataWriter | None = None
    ) -> TransactionSettings:
        """How this table is guarded, by the ``hoodie.*`` values of a job."""
        lock_folder = write_keys.LOCK_PATH.of(properties) or f"{self.base_path}/.hoodie"
        return TransactionSettings(
            storage=self.storage,
            base_path=self.base_path,
            config=self.config,
            clock=self.clock,
            lock=LockSettings(
                path=f"{lock_folder}/lock",
                wait_ms=write_keys.LOCK_WAIT.of(properties),
                expire_ms=write_keys.LOCK_EXPIRE.of(properties) * 60_000,
            ),
            heartbeat=HeartbeatSettings(
                interval_ms=write_keys.HEARTBEAT_INTERVAL.of(properties),
                misses=write_keys.HEARTBEAT_MISSES.of(properties),
            ),
            metadata_writer=metadata_writer or TakeOffMetadataWriter(),
        )

    def _list(self, partition: str) -> list[FileStatus]:
        path = f"{self.base_path}/{partition}" if partition else self.base_path
        return [status for status in self.storage.list(path) if not status.is_directory]
