"""From a table's facts and a metastore's state to the calls that make the second agree with the first. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.order import precedes
from spark_jobs.frame.nothing import Nothing
from spark_jobs.hive.config import SyncConfig
from spark_jobs.hive.events import (
    AddPartitions,
    CreateDatabase,
    CreateTable,
    DropPartitions,
    Event,
    ReplaceColumns,
    SetProperties,
    UpdatePartitions,
)
from spark_jobs.hive.facts import SyncedUntil, TableFacts
from spark_jobs.hive.state import Column, MetastorePartition, MetastoreTable
from spark_jobs.hive.target import Reading, is_hudi_table, partition_of, readings_of, sync_times, synced_until, table_of

_WIDENINGS = {("int", "bigint"), ("float", "double")}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table that is registered already, with its partitions."""

    table: MetastoreTable
    partitions: tuple[MetastorePartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetastoreState:
    """What a metastore holds at the names that sync is about; ``tables`` has the existing ones only."""

    database_exists: bool
    tables: Mapping[str, TableState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPlan:
    """Calls in their order, at least one, and for each table to which no call goes the reason."""

    facts: TableFacts
    database: str
    events: tuple[Event, ...]
    reasons: Mapping[str, str]

    def describe(self) -> dict[str, Any]:
        """JSON's own types."""
        return {
            "database": self.database,
            "events": [event.describe() for event in self.events],
            "unchanged": dict(self.reasons),
        }


def plan_sync(facts: TableFacts, config: SyncConfig, state: MetastoreState, owner: str) -> SyncPlan | Nothing:
    """All that sync has to do.

    :raises ConfigError: the database is missing and may not be made, a table of that name is no Hudi table or has other
        partition keys, or a column's type changed in a way that Hive cannot follow.
    """
    if not facts.last_instant:
        return Nothing(f"{facts.base_path} has no completed commit yet")
    events: list[Event] = []
    reasons: dict[str, str] = {}
    if not state.database_exists:
        if not config.auto_create_database:
            raise ConfigError(
                f"the database {config.database} does not exist",
                todo="create it, or set hoodie.datasource.hive_sync.auto_create_database=true",
            )
        events.append(CreateDatabase(database=config.database))
    for reading in readings_of(facts, config):
        planned = list(_plan_table(facts, config, reading, state.tables.get(reading.name), owner))
        events += planned
        if not planned:
            reasons[reading.name] = f"{config.database}.{reading.name} is in sync with instant {facts.last_instant}"
    if not events:
        return Nothing("; ".join(reasons.values()))
    return SyncPlan(facts=facts, database=config.database, events=tuple(events), reasons=reasons)


def _plan_table(
    facts: TableFacts, config: SyncConfig, reading: Reading, known: TableState | None, owner: str
) -> Iterator[Event]:
    wanted = table_of(facts, config, reading, owner)
    if known is None:
        yield CreateTable(database=config.database, table=wanted)
        yield from _partitions(facts, config, reading, None)
        yield SetProperties(database=config.database, table=reading.name, parameters=sync_times(facts))
        return
    _check_is_ours(config, known.table, wanted)
    changed = [
        *_columns(config, known.table, wanted),
        *_properties(config, known.table, wanted),
        *_partitions(facts, config, reading, known),
    ]
    yield from changed
    # The time is set last: a sync that breaks off before it starts from the old time again.
    if changed or not config.conditional:
        times = _missing(known.table.parameters, sync_times(facts))
        if times:
            yield SetProperties(database=config.database, table=reading.name, parameters=times)


def _check_is_ours(config: SyncConfig, known: MetastoreTable, wanted: MetastoreTable) -> None:
    name = f"{config.database}.{known.name}"
    if not is_hudi_table(known):
        raise ConfigError(
            f"{name} exists and is no Hudi table (input format {known.input_format or 'none'})",
            todo="give another name as hoodie.datasource.hive_sync.table, or drop it",
        )
    keys = [column.name.lower() for column in known.partition_keys]
    wanted_keys = [column.name for column in wanted.partition_keys]
    if keys != wanted_keys:
        raise ConfigError(
            f"{name} is partitioned by ({', '.join(keys)}), the Hudi table by ({', '.join(wanted_keys)})",
            todo="Hive can't change partition keys: drop the table from the metastore (not its files) and sync again",
        )


def _columns(config: SyncConfig, known: MetastoreTable, wanted: MetastoreTable) -> Iterator[Event]:
    before = {column.name.lower(): column for column in known.columns}
    changes: dict[str, str] = {}
    columns: list[Column] = []
    for column in wanted.columns:
        old = before.pop(column.name, None)
        if old is None:
            changes[column.name] = f"added as {column.type}"
        elif _plain(old.type) != _plain(column.type):
            if not _may_become(_plain(old.type), _plain(column.type)):
                raise ConfigError(
                    f"{config.database}.{known.name}: {column.name} can't change from {old.type} to {column.type}",
                    todo="drop the table from the metastore (not its files) and sync again",
                )
            changes[column.name] = f"{old.type} becomes {column.type}"
        elif config.sync_comment and column.comment and column.comment != old.comment:
            changes[column.name] = "comment"
        kept = old.comment if old is not None and not column.comment else column.comment
        columns.append(Column(name=column.name, type=column.type, comment=kept))
    changes |= dict.fromkeys(before, "removed")
    if changes:
        yield ReplaceColumns(
            database=config.database,
            table=known.name,
            columns=tuple(columns),
            cascade=bool(wanted.partition_keys),
            changes=changes,
        )


def _plain(hive_type: str) -> str:
    return "".join(hive_type.split()).lower()


def _may_become(old: str, new: str) -> bool:
    """Hudi's rule (HiveSchemaUtil.isSchemaTypeUpdateAllowed): what is inside a struct is not looked at."""
    return (old, new) in _WIDENINGS or ("struct" in old and "struct" in new)


def _properties(config: SyncConfig, known: MetastoreTable, wanted: MetastoreTable) -> Iterator[Event]:
    parameters = _missing(
        known.parameters, {name: value for name, value in wanted.parameters.items() if name != "EXTERNAL"}
    )
    serde_parameters = _missing(known.serde_parameters, wanted.serde_parameters)
    formats = (wanted.input_format, wanted.output_format, wanted.serde)
    new_formats = formats != (known.input_format, known.output_format, known.serde)
    moved = not _same_place(known.location, wanted.location)
    if parameters or serde_parameters or new_formats or moved:
        yield SetProperties(
            database=config.database,
            table=known.name,
            parameters=parameters,
            serde_parameters=serde_parameters,
            location=wanted.location if moved else None,
            formats=formats if new_formats else None,
        )


def _missing(known: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in wanted.items() if known.get(name) != value}


def _partitions(facts: TableFacts, config: SyncConfig, reading: Reading, known: TableState | None) -> Iterator[Event]:
    if not (config.partition_fields or facts.partition_fields):
        return
    registered = {partition.values: partition for partition in known.partitions} if known else {}
    since = _incremental_since(facts, config, known)
    if since is None:
        stored = {
            partition.values: partition
            for partition in (partition_of(facts, config, path) for path in facts.partitions)
        }
        dropped = {values: partition for values, partition in registered.items() if values not in stored}
    else:
        stored, dropped = _changed_since(facts, config, since)
        dropped = {values: registered[values] for values in dropped if values in registered}
    added = [partition for values, partition in stored.items() if values not in registered]
    moved = [
        partition
        for values, partition in stored.items()
        if values in registered and not _same_place(registered[values].location, partition.location)
    ]
    for batch in _batches(added, config.batch):
        yield AddPartitions(database=config.database, table=reading.name, partitions=batch)
    for batch in _batches(moved, config.batch):
        yield UpdatePartitions(database=config.database, table=reading.name, partitions=batch)
    for batch in _batches(dropped.values(), config.batch):
        yield DropPartitions(database=config.database, table=reading.name, partitions=batch)


def _incremental_since(facts: TableFacts, config: SyncConfig, known: TableState | None) -> SyncedUntil | None:
    """Since when changes count, or None where all partitions have to be compared."""
    if known is None or facts.changes is None or facts.changes_after is None or not config.incremental:
        return None
    since = synced_until(known.table)
    if since is None or not _same_place(known.table.location, facts.base_path):
        return None
    known_from = facts.changes_after
    is_unknown = precedes(since.instant, known_from.instant) or precedes(since.completed, known_from.completed)
    return None if is_unknown else since


def _changed_since(
    facts: TableFacts, config: SyncConfig, since: SyncedUntil
) -> tuple[dict[tuple[str, ...], MetastorePartition], dict[tuple[str, ...], MetastorePartition]]:
    stored: dict[tuple[str, ...], MetastorePartition] = {}
    dropped: dict[tuple[str, ...], MetastorePartition] = {}
    for change in facts.changes or ():
        if not since.is_new(change.instant, change.completed):
            continue
        for path in change.dropped:
            partition = partition_of(facts, config, path)
            stored.pop(partition.values, None)
            dropped[partition.values] = partition
        for path in change.written:
            if path in change.dropped:
                continue
            partition = partition_of(facts, config, path)
            dropped.pop(partition.values, None)
            stored[partition.values] = partition
    return stored, dropped


def _batches(partitions: Iterable[MetastorePartition], size: int) -> Iterator[tuple[MetastorePartition, ...]]:
    ordered = iter(sorted(partitions, key=lambda partition: partition.values))
    while batch := tuple(itertools.islice(ordered, size)):
        yield batch


def _same_place(one: str, other: str) -> bool:
    """True if two locations have one path, and one authority where both name it; metastores add and change schemes."""
    authority, path = _authority_and_path(one)
    other_authority, other_path = _authority_and_path(other)
    return path == other_path and (authority == other_authority or not authority or not other_authority)


def _authority_and_path(location: str) -> tuple[str, str]:
    _, has_authority, rest = location.partition("://")
    if not has_authority:
        return "", location.removeprefix("file:").rstrip("/")
    authority, _, path = rest.partition("/")
    return authority, f"/{path}".rstrip("/")
