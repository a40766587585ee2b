"""Sync against a real metastore."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dags_examples.demo.metastore import EmbeddedMetastore
from spark_jobs.core.errors import ConfigError
from spark_jobs.frame.nothing import Nothing
from spark_jobs.hive.client import ThriftMetastore
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.facts import SyncedUntil
from spark_jobs.hive.metastore import MetastoreUnreachableError
from spark_jobs.hive.register import synced_tables
from spark_jobs.hive.state import MetastorePartition, MetastoreTable
from spark_jobs.hive.sync import SyncCounts, all_synced_until
from tests.support.hive_sync import sync, to_do
from tests.support.hive_sync import synced as done_by
from tests.unit.hive.left_by_hudi import Synced, described, facts_named, synced_by_hudi, without_element_nulls

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("number", range(len(synced_by_hudi())), ids=[one.name for one in synced_by_hudi()])
def test_what_we_leave_is_what_hudi_left(
    number: int, metastore: ThriftMetastore, database: str, tmp_path: Path
) -> None:
    synced: Synced = synced_by_hudi(str(tmp_path))[number]
    config = dataclasses.replace(SyncConfig.of(synced.options), database=database)
    assert done_by(synced.facts, config, metastore).tables_created == len(synced.left)
    assert metastore.tables(database) == sorted(synced.left)
    for name, left in synced.left.items():
        table = metastore.table(database, name)
        assert table is not None
        ours = described(table, metastore.partitions(database, name))
        assert without_element_nulls(ours) == without_element_nulls(left)

    again = sync(synced.facts, config, metastore)
    assert isinstance(again, Nothing)
    assert again.reason.startswith(f"{database}.")
    assert again.reason.endswith(f" is in sync with instant {synced.facts.last_instant}")


def test_evolution_reaches_the_partitions(metastore: ThriftMetastore, database: str, tmp_path: Path) -> None:
    facts, config = facts_named("cow_evo", str(tmp_path)), SyncConfig(database=database)
    without = [field for field in facts.avro_schema["fields"] if field["name"] != "extra"]
    old = dataclasses.replace(facts, avro_schema={**facts.avro_schema, "fields": without}, last_instant="2024")
    sync(old, config, metastore)
    assert done_by(facts, config, metastore) == SyncCounts(schemas_changed=1, properties_set=2)
    table = metastore.table(database, "cow_evo")
    assert table is not None
    assert [column.name for column in table.columns][-1] == "extra"
    thrift = metastore._client.get_partitions(database, "cow_evo", -1)
    assert [[column.name for column in partition.sd.cols][-1] for partition in thrift] == ["extra"] * 3

    wider = [*without, {"name": "tip", "type": "float"}, {"name": "extra", "type": ["null", "long"]}]
    newer = dataclasses.replace(facts, avro_schema={**facts.avro_schema, "fields": wider}, last_instant="2099")
    assert done_by(newer, config, metastore).schemas_changed == 1
    table = metastore.table(database, "cow_evo")
    assert table is not None
    assert [(column.name, column.type) for column in table.columns][-2:] == [("tip", "float"), ("extra", "bigint")]


def test_partitions_come_move_and_go(metastore: ThriftMetastore, database: str, tmp_path: Path) -> None:
    facts, config = facts_named("cow_multi", str(tmp_path)), SyncConfig(database=database, batch=2)
    sync(facts, config, metastore)
    kept = tuple(path for path in facts.partitions if "2020" in path)
    later = dataclasses.replace(facts, partitions=(*kept, "year=2022/month=1"), last_instant="2099")
    assert done_by(later, config, metastore) == SyncCounts(partitions_added=1, partitions_dropped=3, properties_set=1)
    assert {one.values for one in metastore.partitions(database, "cow_multi")} == {
        ("2020", "1"),
        ("2020", "2"),
        ("2020", "3"),
        ("2022", "1"),
    }

    moved = dataclasses.replace(later, base_path=str(tmp_path / "elsewhere"))
    assert done_by(moved, config, metastore) == SyncCounts(partitions_updated=4, properties_set=1)
    assert MetastorePartition(values=("2022", "1"), location=f"file:{moved.base_path}/year=2022/month=1") in (
        metastore.partitions(database, "cow_multi")
    )
    assert [table.location for table in synced_tables(metastore.uri, database)] == [moved.base_path]


def test_a_dry_run_lists_the_plan_and_changes_nothing(
    metastore: ThriftMetastore, database: str, tmp_path: Path
) -> None:
    facts = facts_named("cow_hive", str(tmp_path))
    plan = to_do(facts, SyncConfig(database=database), metastore)
    assert [event["event"] for event in plan.describe()["events"]] == [
        "create database",
        "create table",
        "add partitions",
        "set properties",
    ]
    assert not metastore.database_exists(database)


def test_syncs_at_the_same_time_agree(server: EmbeddedMetastore, database: str, tmp_path: Path) -> None:
    facts, config = facts_named("mor", str(tmp_path)), SyncConfig(database=database)
    (tmp_path / "mor").mkdir()  # the metastore fails where two calls make a table's folder at once

    def run(_: int) -> None:
        with ThriftMetastore.connect(server.uri) as metastore:
            sync(facts, config, metastore)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    with ThriftMetastore.connect(server.uri) as metastore:
        assert isinstance(sync(facts, config, metastore), Nothing)
        assert len(metastore.partitions(database, "mor")) == 3


def test_a_sync_that_broke_off_is_finished_by_the_next(
    metastore: ThriftMetastore, database: str, tmp_path: Path
) -> None:
    facts, config = facts_named("mor", str(tmp_path)), SyncConfig(database=database)
    whole = len(to_do(facts, config, metastore).events)
    for events in range(1, whole):
        name = f"{database}_{events}"
        left = events

        def stop() -> None:
            nonlocal left
            left -= 1
            if not left:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sync(facts, dataclasses.replace(config, database=name), metastore, after_event=stop)
        sync(facts, dataclasses.replace(config, database=name), metastore)
        assert isinstance(sync(facts, dataclasses.replace(config, database=name), metastore), Nothing)
        assert [len(metastore.partitions(name, table)) for table in metastore.tables(name)] == [3, 3, 3]


def test_a_foreign_table_is_left_alone(metastore: ThriftMetastore, database: str, tmp_path: Path) -> None:
    metastore.create_database(database)
    text = MetastoreTable(
        name="cow_hive",
        location=str(tmp_path / "text"),
        columns=(),
        input_format="org.apache.hadoop.mapred.TextInputFormat",
        output_format="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        serde="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    )
    metastore.create_table(database, text)
    with pytest.raises(ConfigError, match="exists and is no Hudi table"):
        sync(facts_named("cow_hive", str(tmp_path)), SyncConfig(database=database), metastore)
    assert synced_tables(metastore.uri, database) == []


def test_synced_tables_tell_where_and_how_to_read(metastore: ThriftMetastore, database: str, tmp_path: Path) -> None:
    config = SyncConfig(database=database, omit_meta_fields=True)
    for name in ("mor", "cow_multi"):
        sync(facts_named(name, str(tmp_path)), config, metastore)
    found = synced_tables(metastore.uri, database)
    assert [(table.name, table.location, table.read_optimized) for table in found] == [
        ("cow_multi", f"{tmp_path}/cow_multi", False),
        ("mor", f"{tmp_path}/mor", False),
        ("mor_ro", f"{tmp_path}/mor", True),
        ("mor_rt", f"{tmp_path}/mor", False),
    ]
    assert [f"{column.name} {column.type}" for column in found[0].columns] == [
        "id bigint",
        "name string",
        "year int",
        "month int",
    ]
    with pytest.raises(ConfigError, match="the metastore has no database nowhere"):
        synced_tables(metastore.uri, "nowhere")


def test_how_far_all_tables_are_synced(metastore: ThriftMetastore, database: str, tmp_path: Path) -> None:
    facts, config = facts_named("mor", str(tmp_path)), SyncConfig(database=database)
    assert all_synced_until(config, metastore, "mor", True) is None
    sync(facts, config, metastore)
    assert all_synced_until(config, metastore, "mor", True) == SyncedUntil(
        instant=facts.last_instant, completed=facts.last_transition_time
    )
    assert all_synced_until(config, metastore, "other", True) is None
    assert all_synced_until(dataclasses.replace(config, incremental=False), metastore, "mor", True) is None


def test_a_lost_connection_is_one_line(server: EmbeddedMetastore) -> None:
    with ThriftMetastore.connect(server.uri) as metastore:
        metastore._transport.close()
        with pytest.raises(MetastoreUnreachableError, match=f"no Hive metastore answers at {server.uri} "):
            metastore.tables("default")
