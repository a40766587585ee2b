"""``hoodie.properties``: read with its checksum and backup, updated so that a crash at any point leaves a good copy."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.java_properties import format_properties, parse_properties
from spark_jobs.core.config.keys import archive as archive_keys
from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.errors import ConfigError, CorruptTableError, StorageError, TableNotFoundError
from spark_jobs.core.format.folders import (
    AUX_FOLDER,
    BOOTSTRAP_INDEX_FOLDER,
    MARKER_FOLDER,
    META_FOLDER,
    SCHEMA_FOLDER,
    TIMELINE_FOLDERS,
)
from spark_jobs.core.format.instant_time import TimelineZone
from spark_jobs.core.format.known import format_of
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.storage import RelativePath, Storage, resolve
from spark_jobs.core.storage.protocol import SMALL_FILE
from spark_jobs.core.storage.relative_path import is_inside
from spark_jobs.core.text import is_unicode

PROPERTIES = "hoodie.properties"
BACKUP = "hoodie.properties.backup"
_TRIES = 5
_INSTANT_FILE = re.compile(r"\d{14,}(_\d+)?\.[a-z]")
"""As the timeline names its files; an instant is not parsed here."""


@dataclass(frozen=True, slots=True)
class TableConfig:
    """The properties of a table, as values (Hudi: HoodieTableConfig)."""

    properties: Mapping[str, str]

    @property
    def name(self) -> str:
        return table_keys.NAME.of(self.properties)

    @property
    def table_type(self) -> table_keys.TableType:
        return table_keys.TYPE.of(self.properties)

    @property
    def is_merge_on_read(self) -> bool:
        return self.table_type is table_keys.TableType.MERGE_ON_READ

    @property
    def format(self) -> TableFormat:
        """What knows the table's version.

        :raises UnsupportedTableError: a version that this release does not know.
        """
        return format_of(table_keys.VERSION.of(self.properties), f"table {self.name}")

    @property
    def precombine_field(self) -> str:
        return table_keys.PRECOMBINE_FIELD.of(self.properties)

    @property
    def partition_fields(self) -> tuple[str, ...]:
        return table_keys.PARTITION_FIELDS.of(self.properties)

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        return table_keys.RECORD_KEY_FIELDS.of(self.properties)

    @property
    def key_generator_class(self) -> str:
        return table_keys.KEY_GENERATOR_CLASS.of(self.properties)

    @property
    def payload_class(self) -> str:
        return compact_keys.PAYLOAD_CLASS.of(self.properties).replace("com.uber.hoodie", "org.apache.hudi")

    @property
    def hive_style(self) -> bool:
        return datasource_keys.HIVE_STYLE.of(self.properties)

    @property
    def url_encode(self) -> bool:
        return datasource_keys.URL_ENCODE.of(self.properties)

    @property
    def timezone(self) -> TimelineZone:
        return table_keys.TIMEZONE.of(self.properties)

    @property
    def populate_meta_fields(self) -> bool:
        return table_keys.POPULATE_META_FIELDS.of(self.properties)

    def archive_folder(self, base_path: str) -> str:
        """Whole path of the folder of the archived timeline.

        :raises OutsideTableError: ``hoodie.archivelog.folder`` leads out of ``.hoodie``.
        """
        place = f"{base_path}/{META_FOLDER}/{PROPERTIES}"
        name = archive_keys.ARCHIVE_FOLDER.of(self.properties).rstrip("/")
        return self.format.archive_folder(
            base_path, RelativePath(name, f"{archive_keys.ARCHIVE_FOLDER.name} in {place}")
        )

    @property
    def create_schema(self) -> str:
        return table_keys.CREATE_SCHEMA.of(self.properties)

    def lists(self, partition: MetadataPartition) -> bool:
        """Whether readers may trust this partition of the metadata table."""
        return self.format.metadata.path(partition) in self.metadata_partitions

    @property
    def metadata_partitions(self) -> tuple[str, ...]:
        return table_keys.METADATA_PARTITIONS.of(self.properties)


def table_checksum(properties: Mapping[str, str]) -> str:
    """CRC32 of ``<database>.<table>`` as decimal text (Hudi: HoodieTableConfig.generateChecksum)."""
    identity = f"{table_keys.DATABASE.of(properties)}.{table_keys.NAME.of(properties)}"
    return str(zlib.crc32(identity.encode("utf-8")))


def read_table_config(storage: Storage, base_path: str, clock: Clock) -> TableConfig:
    """Read ``hoodie.properties``, or its backup where a crashed update left no good main copy.

    :raises TableNotFoundError: neither file exists.
    :raises CorruptTableError: neither copy has a right checksum.
    :raises StorageError: they could not be read, so that nothing is known of them.
    """
    folder = f"{base_path}/{META_FOLDER}"
    reason = ""
    unread: StorageError | None = None
    for attempt in range(_TRIES):
        found, unread = False, None
        for name in (PROPERTIES, BACKUP):
            path = f"{folder}/{name}"
            try:
                content = storage.load(path)
            except StorageError as error:
                found, unread = True, error
                continue
            if content is None:
                continue
            found = True
            if content.status.size > SMALL_FILE:
                reason = f"{name} has {content.status.size} bytes, more than any table's properties"
                continue
            try:
                properties = parse_properties(content.data)
                reason = _fault(properties)
            except CorruptTableError as error:
                reason = str(error)
                continue
            if not reason:
                return TableConfig(properties)
        if not found and not storage.has_folder(folder):
            raise TableNotFoundError(
                f"{base_path} is not a Hudi table ({META_FOLDER}/{PROPERTIES} is missing)",
                todo="check the path",
                path=base_path,
            )
        if found and attempt < _TRIES - 1 and storage.stat(f"{folder}/{BACKUP}") is None:
            break  # no update is under way: waiting can't mend it
        clock.sleep(0.2)
    refuse_lost_properties(storage, base_path)
    if unread is not None:
        raise unread
    if not reason:
        raise TableNotFoundError(
            f"{base_path} is not a Hudi table ({META_FOLDER}/{PROPERTIES} is missing)",
            todo="check the path",
            path=base_path,
        )
    raise CorruptTableError(
        f"{folder}/{PROPERTIES} is corrupt ({reason})",
        todo="restore it from a backup or correct it by hand",
        path=folder,
    )


def _fault(properties: Mapping[str, str]) -> str:
    if unstorable := _unstorable(properties):
        return f"{unstorable} is no Unicode text"
    stored = table_keys.CHECKSUM.of(properties)
    if not table_keys.NAME.of(properties):
        return f"no {table_keys.NAME.name}"
    if stored and stored != table_checksum(properties):
        return f"checksum {stored} where {table_checksum(properties)} is right"
    return ""


def _unstorable(properties: Mapping[str, str]) -> str:
    """The first property, in one line, that has half a character in it."""
    return next((repr(f"{key}={text}") for key, text in properties.items() if not is_unicode(key + text)), "")


def refuse_lost_properties(storage: Storage, base_path: str) -> None:
    """
    :raises CorruptTableError: there is a timeline, but no ``hoodie.properties`` that says what table it is of.
    """
    folder = f"{base_path}/{META_FOLDER}"
    if any(storage.stat(f"{folder}/{name}") is not None for name in (PROPERTIES, BACKUP)):
        return
    for place in TIMELINE_FOLDERS:
        found = [
            one.name for one in storage.list(resolve(base_path, RelativePath(place))) if _INSTANT_FILE.match(one.name)
        ]
        if found:
            raise CorruptTableError(
                f"{folder}/{PROPERTIES} is missing, while there is a timeline ({len(found)} files such as {found[0]})",
                todo="restore it from a backup, or write one with the settings that the table was made with (Hudi's "
                "`hudi-cli repair overwrite-hoodie-props`); for a new table give another path",
                path=f"{folder}/{PROPERTIES}",
            )


def create_table_config(storage: Storage, base_path: str, properties: Mapping[str, str], clock: Clock) -> TableConfig:
    """Write the first ``hoodie.properties`` and the folders of a new table (Hudi: HoodieTableMetaClient.initTable).

    :raises ConfigError: a property that is no Unicode text.
    """
    if unstorable := _unstorable(properties):
        raise ConfigError(f"the property {unstorable} is no Unicode text", todo="spell whole characters")
    refuse_lost_properties(storage, base_path)
    meta = f"{base_path}/{META_FOLDER}"
    archive = archive_keys.ARCHIVE_FOLDER.of(properties).rstrip("/")
    if not is_inside(archive):
        raise ConfigError(
            f"{archive_keys.ARCHIVE_FOLDER.name}={archive} leads out of the table",
            todo="give the name of a folder in .hoodie",
        )
    complete = {**properties, table_keys.CHECKSUM.name: table_checksum(properties)}
    config = TableConfig(complete)
    of_format = (config.format.timeline_folder(base_path), config.archive_folder(base_path))
    bootstrap = (f"{BOOTSTRAP_INDEX_FOLDER}/{name}" for name in (".partitions", ".fileids"))
    others = (META_FOLDER, SCHEMA_FOLDER, MARKER_FOLDER, AUX_FOLDER, *bootstrap)
    for folder in dict.fromkeys((*of_format, *(resolve(base_path, RelativePath(one)) for one in others))):
        storage.make_directory(folder)
    storage.create(f"{meta}/{PROPERTIES}", _text(complete, "Properties saved on", clock))
    return config


def update_table_config(
    storage: Storage, base_path: str, changes: Mapping[str, str], clock: Clock, remove: Iterable[str] = ()
) -> TableConfig:
    """Change properties in Hudi's order: recover, back up, replace, check, drop the backup.

    The caller holds the table lock.
    """
    main, backup = f"{base_path}/{META_FOLDER}/{PROPERTIES}", f"{base_path}/{META_FOLDER}/{BACKUP}"
    current = read_table_config(storage, base_path, clock)
    if storage.stat(backup) is not None:
        storage.replace(main, _text(current.properties, "Updated at", clock))
        storage.delete(backup)
    changed = {key: value for key, value in {**current.properties, **changes}.items() if key not in set(remove)}
    changed[table_keys.CHECKSUM.name] = table_checksum(changed)
    storage.create(backup, storage.read(main))
    storage.replace(main, _text(changed, "Updated at", clock))
    stored = parse_properties(storage.read(main))
    if stored != changed:
        raise CorruptTableError(
            f"{main} does not hold what was just written", todo=f"compare it with {backup}", path=main
        )
    storage.delete(backup)
    return TableConfig(changed)


def _text(properties: Mapping[str, str], comment: str, clock: Clock) -> bytes:
    now = clock.now()
    stamp = now.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return format_properties(properties, (f"{comment} {stamp}", now.strftime("%a %b %d %H:%M:%S UTC %Y")))
