"""Two syncs of one table at a time: who comes second to a table goes on with what is left."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import pytest

from spark_jobs.frame.nothing import Nothing
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.metastore import TableExistsError
from spark_jobs.hive.state import Column, MetastorePartition, MetastoreTable
from tests.support.hive_sync import sync
from tests.unit.hive.left_by_hudi import facts_named

pytestmark = pytest.mark.unit


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


class FasterOthers(InMemory):
    """Another sync makes each table a moment before."""

    def create_table(self, database: str, table: MetastoreTable) -> None:
        super().create_table(database, table)
        raise TableExistsError(f"{database}.{table.name} exists already", todo="sync again")


def test_a_sync_that_comes_second_to_every_table_finishes() -> None:
    metastore, facts, config = FasterOthers(), facts_named("mor"), SyncConfig()
    sync(facts, config, metastore)
    assert sorted(metastore.made) == ["mor", "mor_ro", "mor_rt"]
    assert [len(metastore.parts[name]) for name in metastore.made] == [3, 3, 3]
    assert isinstance(sync(facts, config, metastore), Nothing)
