"""Bootstraps as ``bootstrap.py`` runs them: plan, make the table, keep and copy, publish.

The partitions that stay in the source are one commit, 00000000000001, those that are copied another, 00000000000002. A
run that died before the first was published is undone whole, the new table with it; one that died later goes on with
what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from spark_jobs.core.errors import AlreadyExistsError, TableNotFoundError, WriteConflictError
from spark_jobs.core.format.known import NEW_TABLES
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT, FULL_BOOTSTRAP_INSTANT
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.hive.job import sync_after_write, sync_asked_for
from spark_jobs.options.bootstrap import BootstrapOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.bootstrap.columns import refuse_missing_columns
from spark_jobs.services.bootstrap.commit import Bootstrap, planned_by
from spark_jobs.services.bootstrap.leftovers import PAST, Leftovers, busy, leftovers_of
from spark_jobs.services.bootstrap.plan import SERVICE, BootstrapPlan, plan_bootstrap
from spark_jobs.services.bootstrap.settings import BootstrapSettings
from spark_jobs.services.bootstrap.source import hive_fields, table_schema
from spark_jobs.services.frame.nothing import Nothing
from spark_jobs.services.frame.plan_hash import PlanFacts, refuse_other_plan
from spark_jobs.services.frame.results import written
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from spark_jobs.services.rollback.new_table import take_back_table

OWN_INSTANTS = (BOOTSTRAP_INSTANT, FULL_BOOTSTRAP_INSTANT)
BOOTSTRAPPED = "bootstrapped"
"""In the extra of a result: the table has all that was asked for, by this run or one before."""


def run_bootstrap(options: BootstrapOptions, context: JobContext) -> JobResult:
    """Bootstrap, and sync to a metastore where the properties ask for that.

    :raises ConfigError: a setting is missing, wrong, or at odds with the source or the table that stands there.
    :raises WriteConflictError: another process is at it, the plan is not the one of the hash that was given, or what an
        earlier run began was another plan.
    """
    options = options.effective()
    properties = options.hoodie_properties()
    synced = sync_asked_for(properties)
    result = _bootstrap(options, context)
    if not synced or result.state is JobState.DRY_RUN or not result.extra.get(BOOTSTRAPPED):
        return result
    table = HudiTable.open(options.base_path, lake=context.lake)
    return sync_after_write(table, properties, result, context.progress)


def _bootstrap(options: BootstrapOptions, context: JobContext) -> JobResult:
    progress = context.progress
    for line in writer_warnings(options.hoodie_properties()):
        progress.note(f"warning: {line}")
    settings = BootstrapSettings.of(options, context.lake)
    table = _open(settings)
    used = _used(table) if table is not None else None
    if table is not None and used is not None:
        return Nothing(used).result(SERVICE, table)
    if not settings.source.files:
        reason = f"there is no Parquet file below {settings.source.path}"
        return JobResult(action=SERVICE, state=JobState.NOTHING_TO_DO, reason=reason, base_path=settings.base_path)
    with progress.phase("plan"):
        schema = table_schema(settings.source, settings.key_spec.partition_fields, settings.name)
        from_folders = hive_fields(settings.source.partitions)
        refuse_missing_columns(schema, settings.key_spec, settings.precombine_field, from_folders)
        plan = plan_bootstrap(
            settings.source.files, settings.to_json(), settings.source.path, schema, settings.properties
        )
    job = _Job(engine=context.engine, options=options, progress=progress, settings=settings, plan=plan)
    return job.run(table)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    engine: Engine
    options: BootstrapOptions
    progress: Progress
    settings: BootstrapSettings
    plan: BootstrapPlan

    def run(self, table: HudiTable | None) -> JobResult:
        timeline = _timeline(self.settings, table)
        wanted, done, left = self._wanted(), list[str](), Leftovers()
        if table is not None:
            self.settings.refuse_other_table(table.config)
            done = _completed(timeline)
            self._refuse_other_beginning(table, done)
            if set(wanted) <= set(done):
                self._sweep(table)
                reason = f"the table is there already: {_text_of(done)} bootstrapped it from {self.plan.source}"
                return Nothing(reason, extra={BOOTSTRAPPED: True}).result(SERVICE, table)
            wanted = [one for one in wanted if one not in done]
            left = leftovers_of(table.transaction_settings(self.settings.properties), table)
        rest = self.plan.without(done)
        facts = _facts(rest, left, done)
        asked = self.options.plan_hash
        if asked is not None and not left.is_of(asked, self.plan.facts()):
            refuse_other_plan(asked, facts, timeline)
        if self.options.dry_run:
            return self._planned(rest, left, done, facts.hash_at(timeline))
        return self._execute(table, rest, wanted, facts)

    def _sweep(self, table: HudiTable) -> None:
        """Heartbeat and markers that a run left which died right after its last commit."""
        if not self.options.dry_run and not table.timeline.pending_writes():
            roll_back_failed_writes(table.transaction_settings(self.settings.properties))

    def _wanted(self) -> list[str]:
        found = [BOOTSTRAP_INSTANT] if self.plan.kept else []
        return [*found, FULL_BOOTSTRAP_INSTANT] if self.plan.copied else found

    def _refuse_other_beginning(self, table: HudiTable, done: list[str]) -> None:
        """What an earlier run completed counts as a part of this plan alone."""
        for time in done:
            began = planned_by(table, time)
            if began is not None and began != self.plan.facts().digest:
                raise WriteConflictError(
                    f"instant {time} of table {table.config.name} came of another plan of this bootstrap",
                    todo="give the options of that run and leave the source as it was, or remove the table",
                    instant=time,
                )

    def _execute(self, table: HudiTable | None, rest: BootstrapPlan, wanted: list[str], facts: PlanFacts) -> JobResult:
        table = self._cleared(table)
        if table is None:
            try:
                table = self.settings.create_table()
            except AlreadyExistsError as error:
                raise busy(self.settings.base_path, "another process makes the table") from error
        bootstrap = Bootstrap(
            table=HudiTable.open(table.url, lake=table.lake, lists_storage=True),
            settings=self.settings,
            plan=self.plan,
            engine=self.engine,
            progress=self.progress,
            digest=self.plan.facts().digest,
            asked=self.options.plan_hash,
        )
        stats = []
        try:
            engine = self.engine.settle(rest.bytes)
            for time in wanted:
                stats += bootstrap.carry_out(time)
        except BaseException:
            bootstrap.undo()
            raise
        transaction = bootstrap.transaction
        maintain_metadata_table(transaction, self.settings.properties, self.progress.note)
        result = written(SERVICE, table, wanted[-1], stats, files_in=len(rest.files), bytes_in=rest.bytes)
        extra: dict[str, Any] = {**rest.counts(), "instants": wanted, "engine": engine, BOOTSTRAPPED: True}
        return replace(result, extra={**extra, "plan_hash": facts.hash_at(transaction.load_timeline())})

    def _cleared(self, table: HudiTable | None) -> HudiTable | None:
        """Without what a dead run left; None where that was all."""
        if table is None:
            return None
        settings = table.transaction_settings(self.settings.properties)
        for undone, by in roll_back_failed_writes(settings):
            self.progress.note(f"rolled back {undone} of a bootstrap that failed, by {by}")
        timeline = settings.load_timeline()
        if timeline.pending_writes():
            raise busy(self.settings.base_path, f"instant {timeline.pending_writes()[0].timestamp} is under way")
        if timeline.completed_commits():
            return table
        take_back_table(settings, self.progress.note, PAST)
        return _open(self.settings)

    def _planned(self, rest: BootstrapPlan, left: Leftovers, done: list[str], shown: str) -> JobResult:
        """
        :param rest: what is left of the plan.
        """
        for line in left.lines():
            self.progress.note(line)
        for file in rest.kept:
            self.progress.note(f"METADATA_ONLY {file.path} {file.size} bytes")
        for file in rest.copied:
            self.progress.note(f"FULL_RECORD {file.path} {file.size} bytes")
        deletions = left.deletions
        before = f"{_text_of(done)} did the others before; " if done else ""
        gone = f"{len(deletions)} file(s) that an earlier run left" if deletions else "nothing"
        self.progress.note(
            f"bootstrap would leave {len(rest.kept)} file(s) in the source and copy {len(rest.copied)} of "
            f"{rest.bytes_copied} bytes; {before}it deletes {gone}; --plan-hash {shown}"
        )
        content = {
            "hash": shown,
            **rest.content(),
            "done": done,
            "deletes": [{"path": path, "bytes": size} for path, size in sorted(deletions.items())],
            "estimate": {"files_out": len(rest.files), "bytes_copied": rest.bytes_copied},
        }
        extra: dict[str, Any] = {**rest.counts(), "plan_hash": shown}
        if left.first.undoings:
            content["rolls_back"] = left.first.to_json()
            extra["rolls_back"] = left.first.instants
        return JobResult(
            action=SERVICE,
            state=JobState.DRY_RUN,
            base_path=self.settings.base_path,
            table=self.settings.name,
            files_in=len(rest.files),
            bytes_in=rest.bytes,
            plan=content,
            extra=extra,
        )


def _facts(rest: BootstrapPlan, left: Leftovers, done: list[str]) -> PlanFacts:
    """Those of the whole plan, where no run began it before."""
    before = {"done": done} if done else {}
    deletions = left.deletions
    return PlanFacts(
        service=SERVICE,
        content={**rest.content(), **left.content(), **before},
        files=len(rest.files) + len(deletions),
        bytes=rest.bytes + sum(deletions.values()),
    )


def _text_of(instants: list[str]) -> str:
    """``instant(s) a and b``."""
    return f"instant{'s' if len(instants) > 1 else ''} {' and '.join(instants)}"


def _open(settings: BootstrapSettings) -> HudiTable | None:
    try:
        return HudiTable.open(settings.url, lake=settings.lake, lists_storage=True)
    except TableNotFoundError:
        return None


def _used(table: HudiTable) -> str | None:
    """Why a table that stands there is none to bootstrap; None where only a bootstrap was at it."""
    commits = table.timeline.completed_commits()
    others = [one for one in commits if one.timestamp not in OWN_INSTANTS]
    if table.timeline.has_archive:
        return f"table {table.config.name} is there already, and in use: it has an archive"
    if others:
        return (
            f"table {table.config.name} is there already, and in use: it has {len(commits)} commit(s), the last is "
            f"{commits[-1].timestamp}"
        )
    return None


def _completed(timeline: ActiveTimeline) -> list[str]:
    return [one.timestamp for one in timeline.completed_commits()]


def _timeline(settings: BootstrapSettings, table: HudiTable | None) -> ActiveTimeline:
    """The table's; an empty one where there is none yet."""
    if table is not None:
        return table.timeline
    folder, archive = NEW_TABLES.timeline_folder(settings.base_path), NEW_TABLES.archive_parent(settings.base_path)
    return ActiveTimeline.load(settings.source.storage, folder, f"{archive}/archived", format=NEW_TABLES)
