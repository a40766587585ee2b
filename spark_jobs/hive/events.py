"""What sync does to a metastore, one value for each call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.hive.formats import Formats
from spark_jobs.hive.metastore import Metastore
from spark_jobs.hive.state import Column, MetastorePartition, MetastoreTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDatabase:
    """Make the database."""

    database: str

    def apply(self, metastore: Metastore) -> None:
        metastore.create_database(self.database)

    def describe(self) -> dict[str, Any]:
        return {"event": "create database", "database": self.database}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """Make a table, without partitions and without a time of sync."""

    database: str
    table: MetastoreTable

    def apply(self, metastore: Metastore) -> None:
        metastore.create_table(self.database, self.table)

    def describe(self) -> dict[str, Any]:
        return {
            "event": "create table",
            "table": self.table.name,
            "location": self.table.location,
            "columns": _columns(self.table.columns),
            "partition_keys": _columns(self.table.partition_keys),
            "input_format": self.table.input_format,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceColumns:
    """Set the columns of a table and, with ``cascade``, of its partitions; ``changes`` says by column what is new."""

    database: str
    table: str
    columns: tuple[Column, ...]
    cascade: bool
    changes: Mapping[str, str]

    def apply(self, metastore: Metastore) -> None:
        metastore.replace_columns(self.database, self.table, self.columns, self.cascade)

    def describe(self) -> dict[str, Any]:
        return {"event": "alter columns", "table": self.table, "cascade": self.cascade, "changes": dict(self.changes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions:
    """Add partitions, at most one batch."""

    database: str
    table: str
    partitions: tuple[MetastorePartition, ...]

    def apply(self, metastore: Metastore) -> None:
        metastore.add_partitions(self.database, self.table, self.partitions)

    def describe(self) -> dict[str, Any]:
        return {"event": "add partitions", "table": self.table, "partitions": _values(self.partitions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePartitions:
    """Set where partitions are, at most one batch."""

    database: str
    table: str
    partitions: tuple[MetastorePartition, ...]

    def apply(self, metastore: Metastore) -> None:
        metastore.update_partitions(self.database, self.table, self.partitions)

    def describe(self) -> dict[str, Any]:
        return {"event": "update partitions", "table": self.table, "partitions": _values(self.partitions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitions:
    """Forget partitions, at most one batch; their files stay."""

    database: str
    table: str
    partitions: tuple[MetastorePartition, ...]

    def apply(self, metastore: Metastore) -> None:
        metastore.drop_partitions(self.database, self.table, (partition.values for partition in self.partitions))

    def describe(self) -> dict[str, Any]:
        return {"event": "drop partitions", "table": self.table, "partitions": _values(self.partitions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperties:
    """Add or overwrite parameters, and the location and formats where these are given."""

    database: str
    table: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    serde_parameters: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None
    formats: Formats | None = None

    def apply(self, metastore: Metastore) -> None:
        metastore.update_table(
            self.database,
            self.table,
            parameters=self.parameters,
            serde_parameters=self.serde_parameters,
            location=self.location,
            formats=self.formats,
        )

    def describe(self) -> dict[str, Any]:
        described = {
            "event": "set properties",
            "table": self.table,
            "parameters": dict(self.parameters),
            "serde_parameters": dict(self.serde_parameters),
            "location": self.location,
            "formats": list(self.formats) if self.formats else None,
        }
        return {name: value for name, value in described.items() if value}


Event = (
    CreateDatabase | CreateTable | ReplaceColumns | AddPartitions | UpdatePartitions | DropPartitions | SetProperties
)


def _columns(columns: tuple[Column, ...]) -> dict[str, str]:
    return {column.name: column.type for column in columns}


def _values(partitions: tuple[MetastorePartition, ...]) -> list[str]:
    return ["/".join(partition.values) for partition in partitions]
