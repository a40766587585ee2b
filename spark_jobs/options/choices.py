"""Options that take one of a few words, with Hudi's own spelling as values."""

from __future__ import annotations

from enum import StrEnum


class Operation(StrEnum):
    """What a write does (``WriteOperationType``)."""

    UPSERT = "upsert"
    INSERT = "insert"
    BULK_INSERT = "bulk_insert"
    DELETE = "delete"
    INSERT_OVERWRITE = "insert_overwrite"
    INSERT_OVERWRITE_TABLE = "insert_overwrite_table"
    DELETE_PARTITION = "delete_partition"


class TableType(StrEnum):
    """How updates reach the files of a table (``HoodieTableType``)."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class SourceReader(StrEnum):
    """Who reads the files of a Parquet source."""

    AUTO = "auto"
    SPARK = "spark"


class ServiceMode(StrEnum):
    """Which half of a table service a job runs (``UtilHelpers.SCHEDULE`` and its neighbours)."""

    SCHEDULE = "schedule"
    EXECUTE = "execute"
    SCHEDULE_AND_EXECUTE = "scheduleAndExecute"
    CANCEL = "cancel"


class EngineKind(StrEnum):
    """Who does the work of a table service."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"
