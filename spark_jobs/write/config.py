"""What one write does: its options, checked against the table and turned into values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.keys import bulkinsert as bulkinsert_keys
from spark_jobs.core.config.keys import copyonwrite as copyonwrite_keys
from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import keygen as keygen_keys
from spark_jobs.core.config.keys import parquet as parquet_keys
from spark_jobs.core.config.keys import write as write_keys
from spark_jobs.core.config.keys.datasource import HIVE_STYLE, URL_ENCODE, DuplicatePolicy, OverwriteMode
from spark_jobs.core.config.keys.index import INDEX_CLASS, INDEX_TYPE, IndexType
from spark_jobs.core.config.keys.lock import CONCURRENCY_MODE, ConcurrencyMode
from spark_jobs.core.create import asked_of_new_table
from spark_jobs.core.errors import ConfigError, TableNotFoundError, UnsupportedTableError
from spark_jobs.core.files.log_format import log_format
from spark_jobs.core.files.write_format import bloom_settings
from spark_jobs.core.format.instant import Action
from spark_jobs.core.index.bucket_settings import BucketSettings
from spark_jobs.core.index.buckets import place_of_bucket
from spark_jobs.core.index.consistent_hashing import refuse_consistent_hashing
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.lake import Lake
from spark_jobs.core.merge.payload import Payload, payload_for_write
from spark_jobs.core.merge.payloads.event_time import EventTime
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.checkpoint import CheckpointMove
from spark_jobs.core.transaction.conflict import PlaceOf, as_it_is
from spark_jobs.options.choices import Operation, TableType
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.key_form import with_stored_form
from spark_jobs.write.key_limit import key_limit
from spark_jobs.write.key_settings import agree, resolve_keys, resolve_meta_fields
from spark_jobs.write.pack import SizeSettings

NEEDS_A_TABLE = (Operation.DELETE, Operation.DELETE_PARTITION)
REPLACES = (Operation.INSERT_OVERWRITE, Operation.INSERT_OVERWRITE_TABLE, Operation.DELETE_PARTITION)
"""Operations that take the place of file groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteConfig:
    """The facts of a write that do not depend on its rows: ``name`` is the table's, ``checkpoint`` what the commit says
    of its source, if one goes with that.
    """

    options: IngestOptions
    properties: Mapping[str, str]
    operation: Operation
    name: str
    table_type: TableType
    key_spec: KeySpec
    populate_meta_fields: bool
    precombine_field: str
    payload_class: str
    sizes: SizeSettings
    lake: Lake
    checkpoint: CheckpointMove | None = None

    @property
    def virtual_keys(self) -> KeySpec | None:
        """How keys are computed from stored rows; None where the meta columns hold them."""
        return None if self.populate_meta_fields else replace(self.key_spec, refuses_ambiguous=False)

    @property
    def payload(self) -> Payload:
        """How records of one key become one, as far as the writer's schema does not matter."""
        return self.payload_with(None)

    def payload_with(self, avro_schema: Mapping[str, Any] | None) -> Payload:
        """The same, knowing the defaults in the writer's schema."""
        return payload_for_write(self.payload_class, self.properties, avro_schema, merge_on_read=self.is_merge_on_read)

    @property
    def is_merge_on_read(self) -> bool:
        return self.table_type is TableType.MERGE_ON_READ

    @property
    def action(self) -> Action:
        """What the write is on the timeline."""
        if self.operation in REPLACES:
            return Action.REPLACE_COMMIT
        return Action.DELTA_COMMIT if self.is_merge_on_read else Action.COMMIT

    @property
    def duplicates(self) -> DuplicatePolicy:
        """What happens to records whose keys the table has; only an insert has a choice."""
        if self.operation is not Operation.INSERT:
            return DuplicatePolicy.NONE
        if datasource_keys.DROP_DUPLICATES.of(self.properties):
            return DuplicatePolicy.DROP
        return datasource_keys.DUPLICATE_POLICY.of(self.properties)

    @property
    def index_type(self) -> IndexType:
        """
        :raises ConfigError: an index, or settings of the bucket index, that this release does not have.
        """
        INDEX_CLASS.of(self.properties)
        kind = INDEX_TYPE.of(self.properties)
        if kind.places_by_key:
            BucketSettings.of(self.properties, self.key_spec.record_key_fields)
        return kind

    @property
    def is_non_blocking(self) -> bool:
        """Whether other upserts may append to the same file groups at the same time.

        :raises ConfigError: the table does not allow it.
        """
        if CONCURRENCY_MODE.of(self.properties) is not ConcurrencyMode.NON_BLOCKING_CONCURRENCY_CONTROL:
            return False
        lacks = {
            "is no MERGE_ON_READ table": not self.is_merge_on_read,
            f"has the index {self.index_type.value}, not BUCKET": not self.index_type.places_by_key,
            f"has the payload {self.payload_class.rpartition('.')[2]}, by which the later record wins": not isinstance(
                self.payload, EventTime
            ),
            "has no precombine field": not self.precombine_field,
            "has a precombine field within a struct, which does not count in logs": "." in self.precombine_field,
        }
        for why, is_so in lacks.items():
            if is_so:
                raise ConfigError(
                    f"{CONCURRENCY_MODE.name}={ConcurrencyMode.NON_BLOCKING_CONCURRENCY_CONTROL.value} can't be "
                    f"served: table {self.name} {why}",
                    todo=f"give {ConcurrencyMode.OPTIMISTIC_CONCURRENCY_CONTROL.value}",
                    key=CONCURRENCY_MODE.name,
                )
        return True

    @property
    def place_of(self) -> PlaceOf:
        """What of a file group no other write may have: its bucket, where that is the index."""
        return place_of_bucket if self.index_type.places_by_key else as_it_is

    @property
    def looks_up(self) -> bool:
        """Whether the write has to know which of its records the table has."""
        return self.operation in (Operation.UPSERT, Operation.DELETE) or self.duplicates is not DuplicatePolicy.NONE

    @property
    def drops_known(self) -> bool:
        """Whether records whose keys the table has are not written: those of an insert that looks keys up."""
        return self.looks_up and self.operation is Operation.INSERT

    @property
    def searches(self) -> bool:
        """Whether the keys of stored records are read: where a key says its place, only to leave known ones out."""
        return self.looks_up and (not self.index_type.places_by_key or self.drops_known)

    @property
    def needs_no_places(self) -> bool:
        """Whether tasks write the rows to new files as they come to them."""
        return self.operation is Operation.BULK_INSERT and not self.index_type.places_by_key

    @property
    def concatenates(self) -> bool:
        """Whether records go into a base file without a look at the keys in it."""
        if self.operation is Operation.BULK_INSERT:
            return True
        return self.operation is Operation.INSERT and write_keys.ALLOW_DUPLICATES_ON_INSERT.of(self.properties)

    @property
    def combine(self) -> bool:
        """Whether the input keeps one record for each key."""
        by_operation = {
            Operation.UPSERT: write_keys.COMBINE_BEFORE_UPSERT,
            Operation.DELETE: write_keys.COMBINE_BEFORE_DELETE,
        }
        key = by_operation.get(self.operation, write_keys.COMBINE_BEFORE_INSERT)
        if key is write_keys.COMBINE_BEFORE_INSERT and not self.properties.get(key.name):
            return datasource_keys.DROP_DUPLICATES.of(self.properties)
        return key.of(self.properties)


def open_if_there(base_path: str, lake: Lake) -> HudiTable | None:
    """The table, or None where nothing stands at the base path yet.

    :raises ConfigError: the base path is a file, or a folder with something else in it than a table.
    """
    place = lake.place(base_path)
    status = place.storage.stat(place.path)
    if status is not None and not status.is_directory:
        raise UnsupportedTableError(
            f"{base_path} is a file", todo="give the folder of a table, or one that does not exist yet"
        )
    try:
        return HudiTable.open(base_path, lake=lake, lists_storage=True)
    except TableNotFoundError:
        return None


def resolve(options: IngestOptions, table: HudiTable | None, lake: Lake) -> WriteConfig:
    """Options over properties over what the table says.

    :raises ConfigError: something is missing, invalid, or at odds with the table.
    :raises TableNotFoundError: a delete where no table is.
    """
    resolved = options.effective()
    given = options.hoodie_properties()
    properties = {**(table.config.properties if table else {}), **given}
    operation = _operation(resolved.op or Operation.UPSERT, properties)
    own = table.config if table else None
    if own is None and operation in NEEDS_A_TABLE:
        raise TableNotFoundError(
            f"there is no table at {options.base_path} to delete from", todo="check --base-path", path=options.base_path
        )
    record_key = own.record_key_fields if own else resolved.record_key_fields
    if own is None:
        asked_of_new_table(given)
    if own is None and not record_key:
        raise ConfigError("a new table needs record key fields", todo="give --record-key-fields")
    name = (own.name if own else resolved.table_name) or ""
    if not name:
        raise ConfigError("a new table needs a name", todo="give --table-name")
    table_type = TableType(own.table_type.value) if own else (resolved.table_type or TableType.COPY_ON_WRITE)
    if table is not None and own is not None:
        refuse_unwritable(own)
        refuse_consistent_hashing(table.storage, table.base_path, name, "write")
        if not record_key:
            raise ConfigError(
                f"table {name} has no record key fields: Hudi makes its keys", todo="write to it with Hudi", table=name
            )
        agree("--table-type", resolved.table_type, table_type, name)
        agree("--table-name", resolved.table_name, name, name)
        agree("--record-key-fields", ",".join(resolved.record_key_fields), ",".join(record_key), name)
        agree("--precombine-field", resolved.precombine_field, own.precombine_field, name)
        if own.is_merge_on_read:  # whose readers go by the class that the table has
            agree(datasource_keys.PAYLOAD_CLASS.name, datasource_keys.PAYLOAD_CLASS.of(given), own.payload_class, name)
        for style, stored in ((HIVE_STYLE, own.hive_style), (URL_ENCODE, own.url_encode)):
            agree(style.name, given.get(style.name, "").lower(), str(stored).lower(), name)
    is_mor = table_type is TableType.MERGE_ON_READ
    limit = key_limit(properties, operation, merge_on_read=is_mor)
    refuses = keygen_keys.REFUSE_AMBIGUOUS.of(properties) and operation is not Operation.DELETE
    key_spec = with_stored_form(resolve_keys(resolved, given, own), given, table)
    key_spec = replace(key_spec, limit=limit, refuses_ambiguous=refuses)
    payload_class = datasource_keys.PAYLOAD_CLASS.of(properties) or (own.payload_class if own else "")
    config = WriteConfig(
        options=resolved,
        properties=properties,
        operation=operation,
        name=name,
        table_type=table_type,
        key_spec=key_spec,
        populate_meta_fields=resolve_meta_fields(given, own, key_spec, merge_on_read=is_mor),
        precombine_field=(own.precombine_field if own else resolved.precombine_field) or "",
        payload_class=payload_class or "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
        lake=lake,
        sizes=SizeSettings(
            max_file_size=parquet_keys.MAX_FILE_SIZE.of(properties),
            small_file_limit=parquet_keys.SMALL_FILE_LIMIT.of(properties),
            split_size=copyonwrite_keys.INSERT_SPLIT_SIZE.of(properties),
            auto_split=copyonwrite_keys.INSERT_AUTO_SPLIT.of(properties),
            record_size=copyonwrite_keys.RECORD_SIZE_ESTIMATE.of(properties),
            small_slices=write_keys.SMALL_FILE_CANDIDATES.of(properties),
        ),
    )
    if own is not None and own.precombine_field and not config.combine and not _has_column(table, own.precombine_field):
        config = replace(config, precombine_field="")  # which names no column: nothing that is combined needs it
    config.payload  # noqa: B018  (refuses an unknown payload class before anything is written)
    config.index_type  # noqa: B018  (refuses an index that this release does not have)
    config.is_non_blocking  # noqa: B018  (refuses a table that can't be written so)
    bulkinsert_keys.SORT_MODE.of(properties)
    datasource_keys.DUPLICATE_POLICY.of(properties)
    log_format(properties)
    _refuse_wrong_file_settings(properties)
    return config


def _has_column(table: HudiTable | None, name: str) -> bool:
    """Whether a table has a column, as far as its schema is known."""
    schema = table.known_avro_schema() if table else None
    return schema is None or name in {field["name"] for field in schema["fields"]}


def _operation(asked: Operation, properties: Mapping[str, str]) -> Operation:
    """What the write does, as Hudi's Spark writer deduces it.

    :raises ConfigError: duplicates can't be dropped by a bulk insert, which looks nothing up.
    """
    if datasource_keys.DROP_DUPLICATES.of(properties):
        if asked is Operation.BULK_INSERT:
            raise ConfigError(
                f"{datasource_keys.DROP_DUPLICATES.name}=true can't be used with bulk_insert, which looks no keys up",
                todo="use insert",
                key=datasource_keys.DROP_DUPLICATES.name,
            )
        if asked is Operation.UPSERT:
            return Operation.INSERT
    static = datasource_keys.OVERWRITE_MODE.of(properties) is OverwriteMode.STATIC
    if asked is Operation.INSERT_OVERWRITE and static:
        named = write_keys.STATIC_OVERWRITE_PARTITIONS.of(properties)
        return asked if named else Operation.INSERT_OVERWRITE_TABLE
    return asked


def _refuse_wrong_file_settings(properties: Mapping[str, str]) -> None:
    """
    :raises ConfigError: a value by which no base file can be written; raised before the table is made.
    """
    for key in (parquet_keys.CODEC, parquet_keys.ZSTD_LEVEL, parquet_keys.DICTIONARY):
        key.of(properties)
    bloom_settings(properties)
