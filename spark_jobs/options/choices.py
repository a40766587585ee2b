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
    """Who does the work of a job."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


class Repair(StrEnum):
    """What ``repair.py`` does about a finding; the value is how ``--only`` names it."""

    LEFTOVERS = "leftovers"
    """Delete the file or folder at the finding's path: no row of the table is in it."""
    METADATA_TABLE = "metadata-table"
    """Make the metadata table anew from the files on storage."""
    DOUBLED_KEYS = "doubled-keys"
    """Keep one row of each key that is in several file groups, and delete the others."""
    LOGS = "logs"
    """Compact the file slice from the blocks of its logs that are left; what was in the others is given up."""
