"""What sync plans, by what the metastore holds already."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.frame.nothing import Nothing
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.events import (
    AddPartitions,
    CreateTable,
    DropPartitions,
    ReplaceColumns,
    SetProperties,
    UpdatePartitions,
)
from spark_jobs.hive.facts import PartitionChanges, SyncedUntil, TableFacts
from spark_jobs.hive.plan import MetastoreState, SyncPlan, TableState, plan_sync
from spark_jobs.hive.state import MetastorePartition, MetastoreTable
from spark_jobs.hive.target import partition_of, readings_of, sync_times, table_of

pytestmark = pytest.mark.unit

FACTS = TableFacts(
    name="trips",
    base_path="/lake/trips",
    merge_on_read=False,
    avro_schema={
        "type": "record",
        "name": "trips",
        "fields": [{"name": "id", "type": "int"}, {"name": "fare", "type": "float"}, {"name": "month", "type": "int"}],
    },
    partition_fields=("month",),
    partitions=("month=1", "month=2"),
    hive_style=True,
    last_instant="20240101000000000",
    last_transition_time="20240101000001000",
)
CONFIG = SyncConfig(database="db")
KNOWN = SyncedUntil(instant="20240101000000000")


def synced(facts: TableFacts = FACTS, config: SyncConfig = CONFIG) -> MetastoreState:
    """The metastore after a first sync; as a metastore may, it spells locations its own way."""
    tables = {}
    for reading in readings_of(facts, config):
        table = table_of(facts, config, reading, "me")
        partitions = [partition_of(facts, config, path) for path in facts.partitions]
        tables[reading.name] = TableState(
            table=dataclasses.replace(
                table,
                location=table.location.replace("file:/", "file:///"),
                parameters={**table.parameters, **sync_times(facts), "transient_lastDdlTime": "1"},
            ),
            partitions=tuple(
                dataclasses.replace(one, location=one.location.replace("file:/", "file:///")) for one in partitions
            ),
        )
    return MetastoreState(database_exists=True, tables=tables)


def later(**changes: Any) -> TableFacts:
    """The table after one more commit."""
    return dataclasses.replace(
        FACTS, **{"last_instant": "20240102000000000", "last_transition_time": "20240102000001000", **changes}
    )


def plan(facts: TableFacts, state: MetastoreState | None = None, config: SyncConfig = CONFIG) -> SyncPlan:
    found = planned(facts, state, config)
    assert not isinstance(found, Nothing), found.reason
    return found


def planned(facts: TableFacts, state: MetastoreState | None = None, config: SyncConfig = CONFIG) -> SyncPlan | Nothing:
    return plan_sync(facts, config, synced() if state is None else state, "me")


TIME = SetProperties(
    database="db",
    table="trips",
    parameters={
        "last_commit_time_sync": "20240102000000000",
        "last_commit_completion_time_sync": "20240102000001000",
    },
)


def test_a_second_sync_has_nothing_to_do_and_says_why() -> None:
    assert planned(FACTS) == Nothing("db.trips is in sync with instant 20240101000000000")


def test_a_table_without_commits_is_not_registered() -> None:
    empty = planned(dataclasses.replace(FACTS, last_instant=""), MetastoreState(database_exists=False))
    assert empty == Nothing("/lake/trips has no completed commit yet")


def test_a_new_commit_moves_the_time_only() -> None:
    assert plan(later()).events == (TIME,)


def test_conditional_sync_leaves_the_time_where_nothing_else_changed() -> None:
    config = dataclasses.replace(CONFIG, conditional=True)
    assert isinstance(planned(later(), config=config), Nothing)
    assert plan(later(partitions=("month=1", "month=2", "month=3")), config=config).events[-1] == TIME


def test_partitions_are_added_moved_and_dropped() -> None:
    state = synced()
    known = state.tables["trips"]
    moved = MetastorePartition(values=("1",), location="file:/old/trips/month=1")
    state = MetastoreState(
        database_exists=True, tables={"trips": dataclasses.replace(known, partitions=(moved, known.partitions[1]))}
    )
    events = plan(later(partitions=("month=1", "month=3")), state).events
    assert events == (
        AddPartitions(
            database="db",
            table="trips",
            partitions=(MetastorePartition(values=("3",), location="file:/lake/trips/month=3"),),
        ),
        UpdatePartitions(
            database="db",
            table="trips",
            partitions=(MetastorePartition(values=("1",), location="file:/lake/trips/month=1"),),
        ),
        DropPartitions(database="db", table="trips", partitions=(known.partitions[1],)),
        TIME,
    )


def test_partitions_come_in_batches() -> None:
    facts = later(partitions=tuple(f"month={number}" for number in range(1, 8)))
    events = plan(facts, config=dataclasses.replace(CONFIG, batch=2)).events
    assert [len(event.partitions) for event in events if isinstance(event, AddPartitions)] == [2, 2, 1]


def test_incremental_sync_looks_at_changes_since_the_last_one_only() -> None:
    facts = later(
        partitions=("month=9",),
        changes=(
            PartitionChanges(instant="20240101000000000", written=("month=8",)),
            PartitionChanges(instant="20240101120000000", written=("month=3", "month=4"), dropped=("month=1",)),
            PartitionChanges(instant="20240102000000000", written=("month=1",), dropped=("month=2", "month=4")),
        ),
        changes_after=SyncedUntil(instant="20240101000000000"),
    )
    events = plan(facts).events
    assert [event.describe() for event in events[:-1]] == [
        {"event": "add partitions", "table": "trips", "partitions": ["3"]},
        {"event": "drop partitions", "table": "trips", "partitions": ["2"]},
    ]


def test_an_older_instant_that_was_completed_since_counts() -> None:
    late = PartitionChanges(instant="20231231000000000", completed="20240101000002000", written=("month=3",))
    seen = PartitionChanges(instant="20231230000000000", completed="20231230000001000", written=("month=4",))
    (added, _) = plan(later(changes=(seen, late), changes_after=KNOWN)).events
    assert added.describe()["partitions"] == ["3"]


@pytest.mark.parametrize(
    ("changes", "config"),
    [
        ({"changes_after": SyncedUntil(instant="20240101060000000")}, CONFIG),
        ({"changes": None}, CONFIG),
        ({"base_path": "/moved/trips"}, CONFIG),
        ({}, dataclasses.replace(CONFIG, incremental=False)),
    ],
    ids=["older than what is known", "unknown", "table moved", "not incremental"],
)
def test_all_partitions_are_compared_where_changes_do_not_tell(changes: dict[str, Any], config: SyncConfig) -> None:
    facts = later(**{"partitions": ("month=1", "month=2", "month=5"), "changes": (), "changes_after": KNOWN, **changes})
    added = [event for event in plan(facts, config=config).events if isinstance(event, AddPartitions)]
    assert [event.describe()["partitions"] for event in added] == [["5"]]


def with_fields(*fields: tuple[str, str]) -> dict[str, Any]:
    return {"type": "record", "name": "t", "fields": [{"name": name, "type": kind} for name, kind in fields]}


def test_schema_changes_cascade_to_partitions() -> None:
    facts = later(avro_schema=with_fields(("id", "long"), ("tip", "double"), ("month", "int")))
    columns, properties, time = plan(facts).events
    assert isinstance(columns, ReplaceColumns)
    assert columns.cascade
    assert columns.changes == {"id": "int becomes bigint", "tip": "added as double", "fare": "removed"}
    assert [(column.name, column.type) for column in columns.columns[-2:]] == [("id", "bigint"), ("tip", "double")]
    assert isinstance(properties, SetProperties)
    assert list(properties.parameters) == ["spark.sql.sources.schema.part.0"]
    assert time == TIME


def test_a_type_that_hive_can_not_follow_is_refused() -> None:
    facts = later(avro_schema=with_fields(("id", "string"), ("fare", "float"), ("month", "int")))
    with pytest.raises(ConfigError, match=r"db\.trips: id can't change from int to string"):
        plan(facts)


def test_comments_of_others_survive() -> None:
    state = synced()
    known = state.tables["trips"].table
    columns = tuple(dataclasses.replace(column, comment="noted by hand") for column in known.columns)
    state = MetastoreState(
        database_exists=True,
        tables={"trips": dataclasses.replace(state.tables["trips"], table=dataclasses.replace(known, columns=columns))},
    )
    assert isinstance(planned(FACTS, state), Nothing)
    facts = later(avro_schema=with_fields(("id", "int"), ("fare", "float"), ("tip", "int"), ("month", "int")))
    replaced = plan(facts, state).events[0]
    assert isinstance(replaced, ReplaceColumns)
    assert [column.comment for column in replaced.columns[-3:]] == ["noted by hand", "noted by hand", ""]


def test_a_moved_table_gets_its_location_path_and_partitions() -> None:
    before = synced(dataclasses.replace(FACTS, base_path="/lake/trips"))
    for place in ("s3://bucket/new/trips", "/new/trips", "file:///new/trips"):
        properties, partitions = plan(dataclasses.replace(FACTS, base_path=place), before).events
        assert isinstance(properties, SetProperties)
        assert properties.location == (f"file:{place}" if place.startswith("/") else place)
        assert properties.serde_parameters == {"path": place}
        assert isinstance(partitions, UpdatePartitions)
        assert len(partitions.partitions) == 2


@pytest.mark.parametrize(
    ("location", "base_path", "moved"),
    [
        ("file:/lake/trips", "/lake/trips", False),
        ("file:///lake/trips/", "/lake/trips", False),
        ("hdfs://name:8020/lake/trips", "/lake/trips", False),
        ("s3a://one/lake/trips", "s3://one/lake/trips", False),
        ("s3a://one/lake/trips", "s3a://two/lake/trips", True),
        ("s3://b/a?b#c", "s3://b/a?b", True),
    ],
)
def test_schemes_make_no_other_place(location: str, base_path: str, moved: bool) -> None:
    facts = dataclasses.replace(FACTS, base_path=base_path)
    events = plan(facts, changed_table(location=location)).events
    assert any(isinstance(event, SetProperties) and event.location is not None for event in events) == moved


def changed_table(**changes: Any) -> MetastoreState:
    table: MetastoreTable = dataclasses.replace(synced().tables["trips"].table, **changes)
    return MetastoreState(database_exists=True, tables={"trips": TableState(table=table)})


def test_a_foreign_table_is_left_alone() -> None:
    state = changed_table(input_format="org.apache.hadoop.mapred.TextInputFormat", parameters={})
    with pytest.raises(ConfigError, match=r"db\.trips exists and is no Hudi table .*give another name"):
        plan(FACTS, state)


def test_other_partition_keys_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"db\.trips is partitioned by \(\), the Hudi table by \(month\)"):
        plan(FACTS, changed_table(partition_keys=()))


def test_wrong_formats_are_put_right() -> None:
    (event,) = (
        event
        for event in plan(FACTS, changed_table(input_format="com.uber.hoodie.hadoop.HoodieInputFormat")).events
        if isinstance(event, SetProperties)
    )
    assert event.formats is not None
    assert event.formats[0] == "org.apache.hudi.hadoop.HoodieParquetInputFormat"


def test_a_missing_database_is_made_only_if_allowed() -> None:
    missing = MetastoreState(database_exists=False)
    assert plan(FACTS, missing).events[0].describe() == {"event": "create database", "database": "db"}
    with pytest.raises(ConfigError, match="the database db does not exist"):
        plan(FACTS, missing, dataclasses.replace(CONFIG, auto_create_database=False))


def test_a_path_that_does_not_fit_the_keys_is_named() -> None:
    config = dataclasses.replace(CONFIG, extractor="MultiPartKeysValueExtractor")
    with pytest.raises(ConfigError, match="partition 'a/b' gives 2 values for the 1 partition keys month"):
        plan(later(partitions=("a/b",)), config=config)


def test_values_are_decoded_on_demand() -> None:
    facts = later(partitions=("month=a%2Fb",))
    for decode, value in ((False, "a%2Fb"), (True, "a/b")):
        added = plan(facts, config=dataclasses.replace(CONFIG, decode_partition=decode)).events[0]
        assert isinstance(added, AddPartitions)
        assert added.partitions == (MetastorePartition(values=(value,), location="file:/lake/trips/month=a%2Fb"),)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, {"t_ro": (False, True), "t_rt": (True, False), "t": (True, False)}),
        ({"snapshot_with_table_name": False}, {"t_ro": (False, True), "t_rt": (True, False)}),
        ({"snapshot_with_table_name": False, "skip_ro_suffix": True}, {"t": (False, True), "t_rt": (True, False)}),
        ({"skip_ro_suffix": True}, {"t": (True, False), "t_rt": (True, False)}),
        ({"strategy": "RO"}, {"t": (False, True)}),
        ({"strategy": "RT"}, {"t": (True, False)}),
        ({"table": "Other", "strategy": "RT"}, {"other": (True, False)}),
    ],
)
def test_tables_of_a_merge_on_read_table(options: dict[str, str], names: dict[str, tuple[bool, bool]]) -> None:
    keys = {
        "snapshot_with_table_name": "hoodie.meta.sync.sync_snapshot_with_table_name",
        "strategy": "hoodie.datasource.hive_sync.table.strategy",
    }
    properties = {
        keys.get(key, f"hoodie.datasource.hive_sync.{key}"): str(value).lower() for key, value in options.items()
    }
    facts = dataclasses.replace(FACTS, name="t", merge_on_read=True)
    readings = readings_of(facts, SyncConfig.of(properties))
    assert {reading.name: (reading.realtime, reading.read_optimized) for reading in readings} == names


def test_long_schemas_come_in_parts() -> None:
    (reading,) = readings_of(FACTS, CONFIG)
    whole = table_of(FACTS, CONFIG, reading, "me").parameters
    parts = table_of(FACTS, dataclasses.replace(CONFIG, schema_part_length=100), reading, "me").parameters
    prefix = "spark.sql.sources.schema."
    count = int(parts[prefix + "numParts"])
    assert count > 1
    assert "".join(parts[f"{prefix}part.{number}"] for number in range(count)) == whole[prefix + "part.0"]


def test_a_plain_hive_table_has_no_word_for_spark() -> None:
    (created, *_) = plan(
        FACTS, MetastoreState(database_exists=True), dataclasses.replace(CONFIG, sync_as_datasource=False, managed=True)
    ).events
    assert isinstance(created, CreateTable)
    assert created.table.parameters == {}
    assert created.table.serde_parameters == {"serialization.format": "1", "path": "/lake/trips"}
    assert created.table.managed


def test_the_plan_describes_itself_in_json() -> None:
    described = plan(FACTS, MetastoreState(database_exists=True)).describe()
    assert [event["event"] for event in described["events"]] == ["create table", "add partitions", "set properties"]
    assert described["events"][0]["partition_keys"] == {"month": "int"}
