"""Two syncs of one table at a time: who comes second to a table goes on with what is left."""

from __future__ import annotations

import pytest

from spark_jobs.frame.nothing import Nothing
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.metastore import TableExistsError
from spark_jobs.hive.state import MetastoreTable
from tests.support.hive_sync import sync
from tests.unit.hive.in_memory import InMemory
from tests.unit.hive.left_by_hudi import facts_named

pytestmark = pytest.mark.unit


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
