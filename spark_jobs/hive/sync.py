"""Hive sync as a service: a Hudi table's schema and partitions in a metastore (Hudi: HiveSyncTool)."""

from __future__ import annotations

import dataclasses
import getpass
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from spark_jobs.core.format.order import earliest
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.in_steps import ServiceInSteps
from spark_jobs.frame.nothing import Nothing
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
from spark_jobs.hive.facts import SyncedUntil, TableFacts, facts_of
from spark_jobs.hive.metastore import Metastore, TableExistsError
from spark_jobs.hive.plan import MetastoreState, SyncPlan, TableState, plan_sync
from spark_jobs.hive.target import readings_of, synced_until
from spark_jobs.options.result import JobResult, JobState

ACTION = "hive_sync"


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
class HiveSync(ServiceInSteps[HudiTable, SyncPlan]):
    """Brings a metastore up to a table. What is there already is not touched, so a second run does nothing."""

    config: SyncConfig
    metastore: Metastore
    progress: Progress
    action: ClassVar[str] = ACTION

    def plan(self, table: HudiTable) -> SyncPlan | Nothing:
        """
        :raises ConfigError: see :func:`plan_sync`.
        """
        config, metastore = self.config, self.metastore
        with self.progress.phase("plan"):
            since = all_synced_until(config, metastore, table.config.name, table.config.is_merge_on_read)
            facts = facts_of(table, since)
            plan = plan_now(facts, config, metastore)
        if not isinstance(plan, Nothing):
            return plan
        return dataclasses.replace(plan, extra=self._extra(facts, SyncCounts()))

    def shown(self, table: HudiTable, plan: SyncPlan, progress: Progress) -> JobResult:
        return self._result(table, plan.facts, SyncCounts(), JobState.DRY_RUN, plan.describe())

    def carry_out(self, table: HudiTable, plan: SyncPlan, progress: Progress) -> JobResult:
        """
        :raises MetastoreUnreachableError, MetastoreError: the metastore went away, or refused a call; what was done by
            then stays, and the next sync does the rest.
        """
        with progress.phase("sync") as phase:
            done = apply(plan, self.config, self.metastore, after_event=phase.advance)
        if isinstance(done, Nothing):
            return dataclasses.replace(done, extra=self._extra(plan.facts, SyncCounts())).result(ACTION, table)
        return self._result(table, plan.facts, count(done), JobState.COMPLETED, None)

    def _result(
        self, table: HudiTable, facts: TableFacts, counts: SyncCounts, state: JobState, shown: dict[str, Any] | None
    ) -> JobResult:
        return JobResult(
            action=ACTION,
            state=state,
            base_path=table.base_path,
            table=table.config.name,
            plan=shown,
            extra=self._extra(facts, counts),
        )

    def _extra(self, facts: TableFacts, counts: SyncCounts) -> dict[str, Any]:
        return {
            "metastore": self.metastore.uri,
            "database": self.config.database,
            "synced_until": facts.last_instant,
            **dataclasses.asdict(counts),
        }


def plan_now(facts: TableFacts, config: SyncConfig, metastore: Metastore) -> SyncPlan | Nothing:
    """What a metastore lacks just now.

    :raises ConfigError: see :func:`plan_sync`.
    """
    return plan_sync(facts, config, read_state(facts, config, metastore), getpass.getuser())


def apply(
    plan: SyncPlan, config: SyncConfig, metastore: Metastore, *, after_event: Callable[[], None] = lambda: None
) -> SyncPlan | Nothing:
    """Carry a plan out. Where another sync makes one of the tables meanwhile, a new plan has what it left to do.

    :param after_event: called after each call to the metastore.
    :returns: the last plan, or that the other sync left nothing.
    """
    facts, now = plan.facts, plan
    for _ in readings_of(facts, config):  # another sync may be faster at each table
        try:
            _call(now, metastore, after_event)
        except TableExistsError:
            left = plan_now(facts, config, metastore)
            if isinstance(left, Nothing):
                return left
            now = left
        else:
            return now
    _call(now, metastore, after_event)
    return now


def _call(plan: SyncPlan, metastore: Metastore, after_event: Callable[[], None]) -> None:
    for event in plan.events:
        event.apply(metastore)
        after_event()


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
