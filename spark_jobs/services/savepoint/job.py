"""Savepoints as ``savepoint.py`` makes, deletes and lists them, in this process (Hudi: SparkRDDWriteClient.savepoint,
SavepointHelpers).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.errors import ConfigError, CorruptTableError, WriteConflictError
from spark_jobs.core.read.retained import refuse_cleaned
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline, open_savepoint, transition
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.avro_schemas import SAVEPOINT_METADATA
from spark_jobs.core.timeline.instant import COMMITS, Action, Instant, State
from spark_jobs.core.timeline.payload_paths import files_of_clean
from spark_jobs.core.transaction.transaction import refuse_pending_restore
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from spark_jobs.engine.context import JobContext
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.savepoint import SavepointMode, SavepointOptions
from spark_jobs.services.frame.nothing import Nothing
from spark_jobs.services.frame.opening import open_table
from spark_jobs.services.savepoint.kept_back import archive_kept_back, kept_back, refuse_needed
from spark_jobs.services.savepoint.plan import Savepoint, files_of

ACTION = "savepoint"


def run_savepoint(options: SavepointOptions, context: JobContext) -> JobResult:
    """
    :raises ConfigError: no such commit, or one of which cleaning took files.
    :raises UnsupportedTableError: a table that this release does not write.
    """
    properties = options.effective().hoodie_properties()
    for line in writer_warnings(properties):
        context.progress.note(f"warning: {line}")
    table = open_table(options, context.lake)
    if options.mode is SavepointMode.LIST:
        return _listed(table)
    refuse_unwritable(table.config)
    settings = table.transaction_settings(properties)
    work = partial(_delete, properties=properties) if options.mode is SavepointMode.DELETE else _create
    if options.dry_run:
        return work(table, options)
    with settings.new_lock() as locked:
        table = table.refreshed(locked.storage)
        refuse_pending_restore(table.timeline)
        return work(table, options)


def savepoints_of(table: HudiTable) -> list[Savepoint]:
    """All that are complete, oldest first."""
    timeline = table.timeline
    return [Savepoint.of(one, timeline.payload(one, table.clock)) for one in timeline.completed(Action.SAVEPOINT)]


def _listed(table: HudiTable) -> JobResult:
    found = savepoints_of(table)
    return JobResult(
        action=ACTION,
        state=JobState.COMPLETED,
        base_path=table.base_path,
        table=table.config.name,
        extra={"savepoints": [one.to_json() for one in found]},
    )


def _create(table: HudiTable, options: SavepointOptions) -> JobResult:
    commit = _commit(table.timeline, options.instant_time)
    found = [one for one in savepoints_of(table) if one.instant == commit.timestamp]
    if found:
        return Nothing(
            f"{commit.timestamp} is saved already, {found[0].file_count} file(s)", extra=found[0].to_json()
        ).result(ACTION, table)
    refuse_cleaned(table.timeline, table.view, commit.timestamp, table.clock)
    slices = table.view(until=commit.timestamp).latest_slices()
    made = Savepoint(
        instant=commit.timestamp,
        user=options.user or "",
        comments=options.comments or "",
        saved_ms=int(table.clock.now().timestamp() * 1000),
        files=files_of(slices),
    )
    _refuse_pending_clean(table, made)
    if not options.dry_run:
        inflight = Instant(commit.timestamp, Action.SAVEPOINT, State.INFLIGHT)
        if inflight not in table.timeline.instants:  # else whoever began it died
            open_savepoint(table.timeline, commit.timestamp)
        transition(table.timeline, inflight, State.COMPLETED, encode_payload(SAVEPOINT_METADATA, made.to_avro()))
    return _result(table, options, made, sum(one.size for one in slices))


def _commit(timeline: ActiveTimeline, asked: str | None) -> Instant:
    if asked is None:
        last = timeline.last_completed()
        if last is None:
            raise ConfigError("the table has no completed commit to save", todo="write to it first")
        return last
    for one in timeline.find(asked):
        if one.is_completed and one.action in COMMITS:
            return one
    archived = bool(timeline.start) and asked < timeline.start
    raise ConfigError(
        f"--instant-time {asked} is no completed commit of the active timeline",
        todo="it is archived, only later ones can be saved" if archived else "give one that is, or none for the last",
        instant=asked,
    )


def _refuse_pending_clean(table: HudiTable, made: Savepoint) -> None:
    """A clean that was planned before the savepoint goes on after it.

    :raises WriteConflictError: it takes files of the savepoint.
    """
    names = made.names
    for pending in table.timeline.pending({Action.CLEAN}):
        try:
            plan = table.timeline.payload(pending.at(State.REQUESTED), table.clock)
        except CorruptTableError:
            continue  # its plan was never written: the next clean removes it
        for files in files_of_clean(plan).values():
            deletable = sorted(names.intersection(files))
            if deletable:
                raise WriteConflictError(
                    f"clean {pending.timestamp}, which is pending, deletes {deletable[0]} of commit {made.instant} "
                    f"({len(deletable)} such file(s))",
                    todo="run clean.py, then save a commit that it left whole",
                    instant=pending.timestamp,
                )


def _delete(table: HudiTable, options: SavepointOptions, *, properties: Mapping[str, str]) -> JobResult:
    asked = options.instant_time
    if asked is None:
        raise ConfigError("--mode delete needs --instant-time", todo="give the savepoint that is to go")
    instants = [one for one in table.timeline.find(asked) if one.action is Action.SAVEPOINT]
    if not instants:
        others = ", ".join(one.instant for one in savepoints_of(table)) or "none"
        return Nothing(f"{asked} is not saved; savepoints of the table: {others}").result(ACTION, table)
    saved = [one for one in savepoints_of(table) if one.instant == asked]
    going = kept_back(table.timeline, asked)
    refuse_needed(table, going, asked)
    if not options.dry_run:
        archive_kept_back(table, going, properties)
        for state in (State.COMPLETED, State.INFLIGHT):
            table.storage.delete(table.timeline.path(instants[0].at(state)))
    if not saved:
        saved = [Savepoint(instant=asked, user="", comments="", saved_ms=0, files={})]
    return _result(table, options, saved[0], 0, archived=[one.timestamp for one in going])


def _result(
    table: HudiTable, options: SavepointOptions, one: Savepoint, size: int, archived: Collection[str] = ()
) -> JobResult:
    """:param archived: commits that go to the archive with the savepoint."""
    described: dict[str, Any] = {"mode": options.mode.value, **one.to_json()}
    if archived:
        described["archived"] = list(archived)
    plan = {**described, "files_by_partition": dict(one.files)}
    return JobResult(
        action=ACTION,
        state=JobState.DRY_RUN if options.dry_run else JobState.COMPLETED,
        instant=one.instant,
        base_path=table.base_path,
        table=table.config.name,
        files_in=one.file_count,
        bytes_in=size,
        plan=plan if options.dry_run else None,
        extra=described,
    )
