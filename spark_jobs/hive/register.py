"""The Hudi tables of a metastore, for Spark sessions that can't read them by name (``register_tables``)."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.errors import ConfigError
from spark_jobs.hive.formats import REALTIME_INPUT_FORMATS
from spark_jobs.hive.metastore import Metastore
from spark_jobs.hive.state import Column, MetastoreTable
from spark_jobs.hive.target import PATH, READ_OPTIMIZED, is_hudi_table


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedTable:
    """A Hudi table of a metastore: ``location`` is the base path, ``columns`` are followed by the partition keys."""

    name: str
    location: str
    read_optimized: bool
    columns: tuple[Column, ...]


def synced_tables(metastore_uri: str, database: str = "default") -> list[SyncedTable]:
    """All Hudi tables of a database, sorted by name; tables of other formats are left out.

    :raises MetastoreUnreachableError: no metastore answers at the URI.
    :raises ConfigError: there is no such database.
    """
    from spark_jobs.hive.client import ThriftMetastore  # and its package, which no other query needs

    with ThriftMetastore.connect(metastore_uri) as metastore:
        return read_synced_tables(metastore, database)


def read_synced_tables(metastore: Metastore, database: str) -> list[SyncedTable]:
    """As :func:`synced_tables`, from an open metastore."""
    if not metastore.database_exists(database):
        raise ConfigError(
            f"the metastore has no database {database}", todo="sync a table to it first", database=database
        )
    found = (metastore.table(database, name) for name in metastore.tables(database))
    return [_synced(table) for table in found if table is not None and is_hudi_table(table)]


def _synced(table: MetastoreTable) -> SyncedTable:
    # Without Spark's parameters only the input format says how it is read; for COPY_ON_WRITE both ways are one.
    read_optimized = table.serde_parameters.get(READ_OPTIMIZED)
    if read_optimized is None:
        read_optimized = str(table.input_format not in REALTIME_INPUT_FORMATS)
    return SyncedTable(
        name=table.name,
        location=table.serde_parameters.get(PATH) or table.location,
        read_optimized=read_optimized.lower() == "true",
        columns=table.columns + table.partition_keys,
    )
