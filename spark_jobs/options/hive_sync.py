"""Options of ``hive_sync.py``, with the flags of Hudi's ``HiveSyncTool`` (``HiveSyncConfigParams``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from spark_jobs.options.base import JobOptions
from spark_jobs.options.flags import Flag, Kind, flag
from spark_jobs.options.job import Job

_PREFIX = "hoodie.datasource.hive_sync."


def _sync(name: str, key: str, help: str, kind: Kind = Kind.TEXT, *, private: bool = False) -> Flag:
    return flag(
        name, keys=(key if key.startswith("hoodie.") else _PREFIX + key,), help=help, kind=kind, private=private
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveSyncOptions(JobOptions):
    """Register a table and its partitions in a Hive metastore.

    Each option stands for a key, ``hoodie.datasource.hive_sync.*`` if not said otherwise;
    ``table`` is the metastore's name of it, ``table_name`` Hudi's own.
    """

    job: ClassVar[str] = "hive_sync"

    database: Annotated[str | None, _sync("--database", "database", "Database of the metastore.")] = None
    table: Annotated[str | None, _sync("--table", "table", "Table of the metastore; --table-name if not given.")] = None
    metastore_uris: Annotated[
        str | None, _sync("--metastore-uris", "metastore.uris", "Thrift address, such as thrift://host:9083.")
    ] = None
    partitioned_by: Annotated[
        tuple[str, ...], _sync("--partitioned-by", "partition_fields", "Partition columns.", Kind.NAMES)
    ] = ()
    partition_value_extractor: Annotated[
        str | None,
        _sync(
            "--partition-value-extractor", "partition_extractor_class", "Class that tells partition values from a path."
        ),
    ] = None
    sync_mode: Annotated[str | None, _sync("--sync-mode", "mode", "Way to the metastore: hms, jdbc or hiveql.")] = None
    jdbc_url: Annotated[
        str | None, _sync("--jdbc-url", "jdbcurl", "Address of HiveServer2 for the mode jdbc.", private=True)
    ] = field(default=None, repr=False)
    user: Annotated[str | None, _sync("--user", "username", "User of the metastore.")] = None
    password: Annotated[
        str | None,
        flag("--password", "--pass", keys=(_PREFIX + "password",), help="Password of that user.", private=True),
    ] = field(default=None, repr=False)
    base_file_format: Annotated[
        str | None, _sync("--base-file-format", "base_file_format", "Format of the base files.")
    ] = None
    auto_create_database: Annotated[
        bool | None,
        _sync("--auto-create-database", "auto_create_database", "Make the database where it is missing.", Kind.BOOLEAN),
    ] = None
    ignore_exceptions: Annotated[
        bool | None, _sync("--ignore-exceptions", "ignore_exceptions", "Log errors and go on.", Kind.BOOLEAN)
    ] = None
    skip_ro_suffix: Annotated[
        bool | None,
        _sync("--skip-ro-suffix", "skip_ro_suffix", "Name the read-optimized table without _ro.", Kind.BOOLEAN),
    ] = None
    table_properties: Annotated[
        str | None, _sync("--table-properties", "table_properties", "Parameters of the table, k=v lines.", private=True)
    ] = field(default=None, repr=False)
    serde_properties: Annotated[
        str | None, _sync("--serde-properties", "serde_properties", "Parameters of the SerDe, k=v lines.", private=True)
    ] = field(default=None, repr=False)
    support_timestamp: Annotated[
        bool | None,
        _sync("--support-timestamp", "support_timestamp", "Timestamps as timestamp, not as bigint.", Kind.BOOLEAN),
    ] = None
    managed_table: Annotated[
        bool | None, _sync("--managed-table", "create_managed_table", "A managed, not an external table.", Kind.BOOLEAN)
    ] = None
    batch_sync_num: Annotated[
        int | None, _sync("--batch-sync-num", "batch_num", "Partitions in one call.", Kind.INTEGER)
    ] = None
    spark_datasource: Annotated[
        bool | None,
        _sync(
            "--spark-datasource", "sync_as_datasource", "Register it as Spark's data source table too.", Kind.BOOLEAN
        ),
    ] = None
    spark_schema_length_threshold: Annotated[
        int | None,
        _sync(
            "--spark-schema-length-threshold",
            "schema_string_length_thresh",
            "Characters of a piece of Spark's schema.",
            Kind.INTEGER,
        ),
    ] = None
    sync_comment: Annotated[
        bool | None, _sync("--sync-comment", "sync_comment", "Comments of columns too.", Kind.BOOLEAN)
    ] = None
    bucket_spec: Annotated[str | None, _sync("--bucket-spec", "bucket_sync_spec", "Bucket clause of the table.")] = None
    use_pre_apache_input_format: Annotated[
        bool | None,
        _sync(
            "--use-pre-apache-input-format",
            "use_pre_apache_input_format",
            "The com.uber.hoodie input formats.",
            Kind.BOOLEAN,
        ),
    ] = None
    decode_partition: Annotated[
        bool | None,
        _sync(
            "--decode-partition",
            "hoodie.meta.sync.decode_partition",
            "Partition values are URL-encoded in paths.",
            Kind.BOOLEAN,
        ),
    ] = None
    conditional_sync: Annotated[
        bool | None,
        _sync(
            "--conditional-sync",
            "hoodie.datasource.meta_sync.condition.sync",
            "Touch the metastore only when schema or partitions changed.",
            Kind.BOOLEAN,
        ),
    ] = None
    spark_version: Annotated[
        str | None, _sync("--spark-version", "hoodie.meta_sync.spark.version", "Spark version to note at the table.")
    ] = None


HIVE_SYNC = Job(
    name="hive sync",
    options=HiveSyncOptions,
    runner="spark_jobs.hive.job:run_hive_sync",
    operator="HudiHiveSyncOperator",
)
