"""A metastore in memory: it stands for a real one, to which tests marked spark and interop talk."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from spark_jobs.hive.state import Column, MetastorePartition, MetastoreTable


class InMemory:
    """A metastore; its calls stand in the Metastore."""

    uri = "thrift://memory:9083"

    def __init__(self) -> None:
        self.made: dict[str, MetastoreTable] = {}
        self.parts: dict[str, dict[tuple[str, ...], MetastorePartition]] = {}

    def database_exists(self, database: str) -> bool:
        return True

    def create_database(self, database: str) -> None:
        raise AssertionError("it is there")

    def tables(self, database: str) -> list[str]:
        return sorted(self.made)

    def table(self, database: str, name: str) -> MetastoreTable | None:
        return self.made.get(name)

    def create_table(self, database: str, table: MetastoreTable) -> None:
        self.made[table.name] = table

    def replace_columns(self, database: str, name: str, columns: Sequence[Column], cascade: bool) -> None:
        self.made[name] = dataclasses.replace(self.made[name], columns=tuple(columns))

    def update_table(
        self,
        database: str,
        name: str,
        *,
        parameters: Mapping[str, str],
        serde_parameters: Mapping[str, str],
        location: str | None = None,
        formats: tuple[str, str, str] | None = None,
    ) -> None:
        table = self.made[name]
        self.made[name] = dataclasses.replace(
            table,
            parameters={**table.parameters, **parameters},
            serde_parameters={**table.serde_parameters, **serde_parameters},
        )

    def partitions(self, database: str, name: str) -> list[MetastorePartition]:
        return list(self.parts.get(name, {}).values())

    def add_partitions(self, database: str, name: str, partitions: Sequence[MetastorePartition]) -> None:
        self.parts.setdefault(name, {}).update({one.values: one for one in partitions})

    def update_partitions(self, database: str, name: str, partitions: Sequence[MetastorePartition]) -> None:
        self.add_partitions(database, name, partitions)

    def drop_partitions(self, database: str, name: str, values: Iterable[tuple[str, ...]]) -> None:
        for one in values:
            del self.parts[name][one]
