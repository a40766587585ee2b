"""Savepoints as ``savepoint.py`` makes, deletes and lists them, in this process (Hudi: SparkRDDWriteClient.savepoint,
SavepointHelpers).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from spark_jobs.core.errors import ConfigError, CorruptTableError, WriteConflictError
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.format.order import precedes
from spark_jobs.core.read.retained import refuse_cleaned
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.core.timeline.results import SavepointResult
from spark_jobs.core.timeline.steps import complete, open_savepoint
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.at_once import ServiceAtOnce, run_at_once
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import open_table, open_to_change
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.savepoint import SavepointMode, SavepointOptions
from spark_jobs.services.savepoint.kept_back import archive_kept_back, kept_back, refuse_needed
from spark_jobs.services.savepoint.plan import Savepoint, files_of

ACTION = "savepoint"


def run_savepoint(options: SavepointOptions, context: JobContext) -> JobResult:
    """
    :raises ConfigError: no such commit, or one of which cleaning took files.
    :raises UnsupportedTableError: a table that this release does not write.
    """
    if options.mode is SavepointMode.LIST:
        context.progress.warn(*writer_warnings(options.effective().hoodie_properties()))
        return _listed(open_table(options, context.lake))
    opened = open_to_change(options, context)
    if options.mode is SavepointMode.DELETE:
        return run_at_once(_Deletion(options, opened.properties), opened, context.progress, dry_run=options.dry_run)
    return run_at_once(_Creation(options), opened, context.progress, dry_run=options.dry_run)


def savepoints_of(table: HudiTable) -> list[Savepoint]:
    """All that are complete, oldest first."""
    timeline = table.timeline
    saved = timeline.completed(Action.SAVEPOINT)
    return [Savepoint(instant=one.timestamp, keeps=timeline.savepoint(one, table.clock)) for one in saved]


def _listed(table: HudiTable) -> JobResult:
    found = savepoints_of(table)
    return JobResult(
        action=ACTION,
        state=JobState.COMPLETED,
        base_path=table.base_path,
        table=table.config.name,
        extra={"savepoints": [one.to_json() for one in found]},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saved:
    """A savepoint that is made, of slices of so many ``bytes``; or one that goes, and with it commits to the archive:
    ``archived``, which it alone kept on the timeline.
    """

    savepoint: Savepoint
    bytes: int = 0
    archived: tuple[Instant, ...] = ()

    def result(self, table: HudiTable, options: SavepointOptions) -> JobResult:
        one = self.savepoint
        described: dict[str, Any] = {"mode": options.mode.value, **one.to_json()}
        if self.archived:
            described["archived"] = [each.timestamp for each in self.archived]
        plan = {**described, "files_by_partition": dict(one.keeps.files)}
        return JobResult(
            action=ACTION,
            state=JobState.DRY_RUN if options.dry_run else JobState.COMPLETED,
            instant=one.instant,
            base_path=table.base_path,
            table=table.config.name,
            files_in=one.file_count,
            bytes_in=self.bytes,
            plan=plan if options.dry_run else None,
            extra=described,
        )


@dataclass(frozen=True, slots=True)
class _Creation(ServiceAtOnce[_Saved]):
    options: SavepointOptions
    action: ClassVar[str] = ACTION

    def plan(self, table: HudiTable) -> _Saved | Nothing:
        commit = _commit(table.timeline, self.options.instant_time)
        found = [one for one in savepoints_of(table) if one.instant == commit.timestamp]
        if found:
            return Nothing(
                f"{commit.timestamp} is saved already, {found[0].file_count} file(s)", extra=found[0].to_json()
            )
        refuse_cleaned(table.timeline, table.view, commit.timestamp, table.clock)
        slices = table.view(until=commit.timestamp).latest_slices()
        keeps = SavepointResult(
            user=self.options.user or "",
            comments=self.options.comments or "",
            saved_ms=int(table.clock.now().timestamp() * 1000),
            files=files_of(slices),
        )
        made = Savepoint(instant=commit.timestamp, keeps=keeps)
        _refuse_pending_clean(table, made)
        return _Saved(savepoint=made, bytes=sum(one.size for one in slices))

    def carry_out(self, locked: TransactionSettings, table: HudiTable, plan: _Saved, progress: Progress) -> JobResult:
        made = plan.savepoint
        inflight = Instant(made.instant, Action.SAVEPOINT, State.INFLIGHT)
        if inflight not in table.timeline.instants:  # else whoever began it died
            open_savepoint(table.timeline, made.instant)
        complete(table.timeline, inflight, made.keeps.payload(), table.clock)
        return plan.result(table, self.options)

    def shown(self, table: HudiTable, plan: _Saved, progress: Progress) -> JobResult:
        return plan.result(table, self.options)


@dataclass(frozen=True, slots=True)
class _Deletion(ServiceAtOnce[_Saved]):
    options: SavepointOptions
    properties: Mapping[str, str]
    action: ClassVar[str] = ACTION

    def plan(self, table: HudiTable) -> _Saved | Nothing:
        asked = self.options.instant_time
        if asked is None:
            raise ConfigError("--mode delete needs --instant-time", todo="give the savepoint that is to go")
        saved = savepoints_of(table)
        if not any(one.action is Action.SAVEPOINT for one in table.timeline.find(asked)):
            others = ", ".join(one.instant for one in saved) or "none"
            return Nothing(f"{asked} is not saved; savepoints of the table: {others}")
        going = kept_back(table.timeline, asked)
        refuse_needed(table, going, asked)
        nothing = SavepointResult(user="", comments="", saved_ms=0, files={})
        begun = Savepoint(instant=asked, keeps=nothing)  # by whom died before it was whole
        found = next((one for one in saved if one.instant == asked), begun)
        return _Saved(savepoint=found, archived=tuple(going))

    def carry_out(self, locked: TransactionSettings, table: HudiTable, plan: _Saved, progress: Progress) -> JobResult:
        archive_kept_back(table, plan.archived, self.properties)
        saved = Instant(plan.savepoint.instant, Action.SAVEPOINT, State.COMPLETED)
        for state in (State.COMPLETED, State.INFLIGHT):
            table.storage.delete(table.timeline.path(saved.at(state)))
        return plan.result(table, self.options)

    def shown(self, table: HudiTable, plan: _Saved, progress: Progress) -> JobResult:
        return plan.result(table, self.options)


def _commit(timeline: ActiveTimeline, asked: str | None) -> Instant:
    if asked is None:
        last = timeline.last_completed()
        if last is None:
            raise ConfigError("the table has no completed commit to save", todo="write to it first")
        return last
    for one in timeline.find(asked):
        if one.is_completed and one.action in COMMITS:
            return one
    archived = bool(timeline.start) and precedes(asked, timeline.start)
    raise ConfigError(
        f"--instant-time {asked} is no completed commit of the active timeline",
        todo="it is archived, only later ones can be saved" if archived else "give one that is, or none for the last",
        instant=asked,
    )


def _refuse_pending_clean(table: HudiTable, made: Savepoint) -> None:
    """A clean that was planned before the savepoint goes on after it.

    :raises WriteConflictError: it takes files of the savepoint.
    """
    names = made.keeps.names
    for pending in table.timeline.pending({Action.CLEAN}):
        try:
            plan = RequestedClean.read(table.timeline, pending, table.clock)
        except CorruptTableError:
            continue  # its plan was never written: the next clean removes it
        for files in plan.deletions.values():
            deletable = sorted(names.intersection(files))
            if deletable:
                raise WriteConflictError(
                    f"clean {pending.timestamp}, which is pending, deletes {deletable[0]} of commit {made.instant} "
                    f"({len(deletable)} such file(s))",
                    todo="run clean.py, then save a commit that it left whole",
                    instant=pending.timestamp,
                )
