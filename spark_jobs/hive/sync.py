"""Plan, then execute: a Hudi table's schema and partitions in a metastore."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from dataclasses import dataclass

from spark_jobs.core.format.order import earliest
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.events import (
    AddPartitions,
    CreateDatabase,
    CreateTable,
    DropPartitions,
    ReplaceColumns,
    SetProperties,
    UpdatePartitions,
)
from spark_jobs.hive.facts import SyncedUntil, TableFacts
from spark_jobs.hive.metastore import Metastore, TableExistsError
from spark_jobs.hive.plan import MetastoreState, SyncPlan, TableState, plan_sync
from spark_jobs.hive.target import readings_of, synced_until


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncCounts:
    """How many of each were done, over all tables of the Hudi table."""

    databases_created: int = 0
    tables_created: int = 0
    schemas_changed: int = 0
    partitions_added: int = 0
    partitions_updated: int = 0
    partitions_dropped: int = 0
    properties_set: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOutcome:
    """What was planned and, unless ``dry_run``, done; ``reason`` says why there was nothing to do."""

    plan: SyncPlan
    counts: SyncCounts
    dry_run: bool = False

    @property
    def reason(self) -> str:
        return self.plan.reason


def sync(
    facts: TableFacts,
    config: SyncConfig,
    metastore: Metastore,
    *,
    dry_run: bool = False,
    after_event: Callable[[], None] = lambda: None,
) -> SyncOutcome:
    """Bring the metastore up to the table. What is there already is not touched, so a second call does nothing.

    :param after_event: called after each call to the metastore.
    :raises ConfigError: see :func:`plan_sync`.
    :raises MetastoreUnreachableError, MetastoreError: the metastore went away, or refused a call; what was done by then
        stays, and the next sync does the rest.
    """
    tries = 1 + len(readings_of(facts, config))  # another sync may be faster at each table, and at each but once
    for attempt in range(tries):
        plan = plan_sync(facts, config, read_state(facts, config, metastore), getpass.getuser())
        if dry_run:
            return SyncOutcome(plan=plan, counts=SyncCounts(), dry_run=True)
        try:
            for event in plan.events:
                event.apply(metastore)
                after_event()
        except TableExistsError:  # another sync made it meanwhile: see what it left to do
            if attempt == tries - 1:
                raise
            continue
        return SyncOutcome(plan=plan, counts=count(plan))
    raise AssertionError("unreachable")


def read_state(facts: TableFacts, config: SyncConfig, metastore: Metastore) -> MetastoreState:
    """What the metastore holds at the names of the table, with all partitions."""
    if not metastore.database_exists(config.database):
        return MetastoreState(database_exists=False)
    tables = {}
    for reading in readings_of(facts, config):
        table = metastore.table(config.database, reading.name)
        if table is not None:
            partitions = metastore.partitions(config.database, reading.name) if table.partition_keys else []
            tables[reading.name] = TableState(table=table, partitions=tuple(partitions))
    return MetastoreState(database_exists=True, tables=tables)


def all_synced_until(config: SyncConfig, metastore: Metastore, name: str, merge_on_read: bool) -> SyncedUntil | None:
    """How far all tables of a Hudi table are synced; None where one is missing or was never synced to its end."""
    if not config.incremental or not metastore.database_exists(config.database):
        return None
    bare = TableFacts(name=name, base_path="", merge_on_read=merge_on_read, avro_schema={})
    found = []
    for reading in readings_of(bare, config):
        table = metastore.table(config.database, reading.name)
        until = synced_until(table) if table else None
        if until is None:
            return None
        found.append(until)
    return SyncedUntil(
        instant=earliest(one.instant for one in found), completed=earliest(one.completed for one in found)
    )


def count(plan: SyncPlan) -> SyncCounts:
    """The counts of a plan."""
    events = plan.events

    def of(kind: type[object]) -> int:
        return sum(isinstance(event, kind) for event in events)

    return SyncCounts(
        databases_created=of(CreateDatabase),
        tables_created=of(CreateTable),
        schemas_changed=of(ReplaceColumns),
        partitions_added=sum(len(event.partitions) for event in events if isinstance(event, AddPartitions)),
        partitions_updated=sum(len(event.partitions) for event in events if isinstance(event, UpdatePartitions)),
        partitions_dropped=sum(len(event.partitions) for event in events if isinstance(event, DropPartitions)),
        properties_set=of(SetProperties),
    )
