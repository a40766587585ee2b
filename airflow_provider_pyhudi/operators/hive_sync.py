"""A table and its partitions into a Hive metastore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.base import HudiJobOperator
from spark_jobs.options import HiveSyncOptions, JobOptions


class HudiHiveSyncOperator(HudiJobOperator):
    """Register a table in a Hive metastore, or bring its registration up to date.

    The arguments are those of :class:`~spark_jobs.options.HiveSyncOptions`, then those of :class:`HudiJobOperator`.
    """

    options_type: ClassVar[type[JobOptions]] = HiveSyncOptions
    template_fields: Sequence[str] = (
        *HudiJobOperator.template_fields,
        "database",
        "table",
        "metastore_uris",
        "partitioned_by",
        "partition_value_extractor",
        "sync_mode",
        "jdbc_url",
        "user",
        "password",
        "base_file_format",
        "table_properties",
        "serde_properties",
        "bucket_spec",
        "spark_version",
    )

    def __init__(
        self,
        *,
        database: str | None = None,
        table: str | None = None,
        metastore_uris: str | None = None,
        partitioned_by: str | Sequence[str] = (),
        partition_value_extractor: str | None = None,
        sync_mode: str | None = None,
        jdbc_url: str | None = None,
        user: str | None = None,
        password: str | None = None,
        base_file_format: str | None = None,
        auto_create_database: bool | None = None,
        ignore_exceptions: bool | None = None,
        skip_ro_suffix: bool | None = None,
        table_properties: str | None = None,
        serde_properties: str | None = None,
        support_timestamp: bool | None = None,
        managed_table: bool | None = None,
        batch_sync_num: int | None = None,
        spark_datasource: bool | None = None,
        spark_schema_length_threshold: int | None = None,
        sync_comment: bool | None = None,
        bucket_spec: str | None = None,
        use_pre_apache_input_format: bool | None = None,
        decode_partition: bool | None = None,
        conditional_sync: bool | None = None,
        spark_version: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.database = database
        self.table = table
        self.metastore_uris = metastore_uris
        self.partitioned_by = partitioned_by
        self.partition_value_extractor = partition_value_extractor
        self.sync_mode = sync_mode
        self.jdbc_url = jdbc_url
        self.user = user
        self.password = password
        self.base_file_format = base_file_format
        self.auto_create_database = auto_create_database
        self.ignore_exceptions = ignore_exceptions
        self.skip_ro_suffix = skip_ro_suffix
        self.table_properties = table_properties
        self.serde_properties = serde_properties
        self.support_timestamp = support_timestamp
        self.managed_table = managed_table
        self.batch_sync_num = batch_sync_num
        self.spark_datasource = spark_datasource
        self.spark_schema_length_threshold = spark_schema_length_threshold
        self.sync_comment = sync_comment
        self.bucket_spec = bucket_spec
        self.use_pre_apache_input_format = use_pre_apache_input_format
        self.decode_partition = decode_partition
        self.conditional_sync = conditional_sync
        self.spark_version = spark_version
