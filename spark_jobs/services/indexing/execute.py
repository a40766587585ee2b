"""An indexing plan carried out, and what one that failed leaves taken away (Hudi: RunIndexActionExecutor)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.table_config import read_table_config, update_table_config
from spark_jobs.core.errors import HudiError, WriteConflictError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.order import latest
from spark_jobs.core.metadata_table.index_build import IndexBuild, SourceOf
from spark_jobs.core.metadata_table.initialize import list_partitions
from spark_jobs.core.metadata_table.layout import metadata_path
from spark_jobs.core.metadata_table.recovery import recover
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.indexing import RequestedIndexing
from spark_jobs.core.timeline.steps import complete, transition
from spark_jobs.core.transaction.heartbeat import Heartbeat
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.services.indexing.plan import IndexPlan
from spark_jobs.services.rollback.failed_writes import is_alive


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What was made: records in base files, actions followed afterwards, and the last instant that is in it."""

    records: int
    caught_up: int
    up_to: str


def claim_plan(settings: TransactionSettings, plan: Instant, under: TransactionSettings) -> Heartbeat | None:
    """Take a plan for execution; what a dead execution of it left goes first.

    :param under: what :meth:`TransactionSettings.new_lock` gave to the caller.
    :returns: a beating heartbeat; None where another process executes it.
    """
    timeline = under.load_timeline()
    found = [one for one in timeline.find(plan.timestamp) if one.action is Action.INDEXING and not one.is_completed]
    if not found or is_alive(under, found[0]):
        return None
    heartbeat = Heartbeat(settings.storage, settings.base_path, plan.timestamp, settings.heartbeat, settings.clock)
    heartbeat.start(under.storage)
    partitions = read_plan(timeline, plan, under).partitions
    if found[0].state is State.INFLIGHT:
        unlist(under, partitions, finished=False)
        timeline.storage.delete(timeline.path(found[0]))
    transition(timeline, found[0].at(State.REQUESTED), State.INFLIGHT)
    config = read_table_config(under.storage, under.base_path, under.clock)
    paths = map(config.format.metadata.path, partitions)
    building = {*table_keys.METADATA_PARTITIONS_INFLIGHT.of(config.properties), *paths}
    changed = {table_keys.METADATA_PARTITIONS_INFLIGHT.name: ",".join(sorted(building))}
    update_table_config(under.storage, under.base_path, changed, under.clock)
    return heartbeat


def carry_out_plan(
    settings: TransactionSettings, instant: Instant, plan: IndexPlan, source_of: SourceOf, heartbeat: Heartbeat
) -> Indexed:
    """Make the indexes of a claimed plan, then list them.

    :raises WriteConflictError: another process took this one for gone, or undid what was indexed.
    """
    table = open_metadata_table(settings)
    wanted = _not_finished(settings, plan)
    build = IndexBuild(partitions=wanted, source_of=source_of, table=table, seen=table.data_timeline)
    records = build.write()
    followed = build.catch_up(open_metadata_table(settings))
    with settings.new_lock() as locked:
        now = recover(open_metadata_table(locked), own=instant.timestamp)
        followed += build.catch_up(now)
        if heartbeat.lapsed() or instant.at(State.INFLIGHT) not in now.data_timeline.instants:
            raise WriteConflictError(
                f"indexing {instant.timestamp} may not be published, another process took it for gone",
                todo="run it again; nothing of it is visible",
                instant=instant.timestamp,
            )
        if _not_finished(locked, plan) != wanted:
            raise WriteConflictError("another writer made one of the indexes meanwhile", todo="run it again")
        if wanted:
            build.publish(locked.storage)
        finished = frozenset(map(table.path_of, plan.partitions))
        list_partitions(locked.storage, locked.base_path, locked.clock, finished)
        up_to = latest(one.timestamp for one in build.seen.instants if one.is_completed)
        done = plan.requested(now.timeline.format.metadata, up_to).completed_payload()
        complete(now.data_timeline, instant.at(State.INFLIGHT), done, locked.clock)
    heartbeat.stop()
    return Indexed(records=records, caught_up=followed, up_to=up_to)


def _not_finished(settings: TransactionSettings, plan: IndexPlan) -> tuple[MetadataPartition, ...]:
    """What is left of a plan; nothing, where an execution died between its last two steps."""
    config = read_table_config(settings.storage, settings.base_path, settings.clock)
    return tuple(one for one in plan.partitions if not config.lists(one))


def give_up(settings: TransactionSettings, instant: Instant, plan: IndexPlan, heartbeat: Heartbeat) -> None:
    """Take away what a failed execution left, its plan too, unless another process has it by now."""
    with suppress(HudiError), settings.new_lock() as locked:  # what can't be removed now, the next execution removes
        timeline = locked.load_timeline()
        pending = [one for one in timeline.find(instant.timestamp) if not one.is_completed]
        if pending and not heartbeat.lapsed():
            unlist(locked, plan.partitions, finished=False)
            remove_plan(timeline, instant)
    heartbeat.stop()


def remove_plan(timeline: ActiveTimeline, instant: Instant) -> None:
    for state in (State.INFLIGHT, State.REQUESTED):
        timeline.storage.delete(timeline.path(instant.at(state)))


def unlist(settings: TransactionSettings, partitions: Iterable[MetadataPartition], *, finished: bool) -> None:
    """Take partitions off the metadata table: their names, then their files. The caller holds the table lock.

    :param finished: finished ones too; else those stay.
    """
    storage, base_path = settings.storage, settings.base_path
    config = read_table_config(storage, base_path, settings.clock)
    kept = () if finished else config.metadata_partitions
    gone = {config.format.metadata.path(one) for one in partitions} - set(kept)
    lists = (table_keys.METADATA_PARTITIONS, table_keys.METADATA_PARTITIONS_INFLIGHT)
    changed = {key.name: ",".join(one for one in key.of(config.properties) if one not in gone) for key in lists}
    update_table_config(storage, base_path, changed, settings.clock)
    for path in sorted(gone):
        storage.delete_tree(f"{metadata_path(base_path)}/{path}")


def open_metadata_table(settings: TransactionSettings) -> MetadataTable:
    """
    :raises StorageError: there is none.
    """
    return MetadataTable.open(settings.storage, settings.base_path, settings.load_timeline(), settings.clock)


def read_plan(timeline: ActiveTimeline, instant: Instant, settings: TransactionSettings) -> IndexPlan:
    requested = RequestedIndexing.read(timeline, instant, settings.clock)
    return IndexPlan.of(requested, timeline.format.metadata, timeline.name_of(instant.at(State.REQUESTED)))
