"""Bootstraps as ``bootstrap.py`` runs them: plan, make the table, keep and copy, publish.

The partitions that stay in the source are one commit, 00000000000001, those that are copied another, 00000000000002. A
run that died before the first was published is undone whole, the new table with it; one that died later goes on with
what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from spark_jobs.core.errors import AlreadyExistsError, TableNotFoundError, WriteConflictError
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT, FULL_BOOTSTRAP_INSTANT
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.in_steps import ServiceInSteps, run_in_steps
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.plan_hash import PlanFacts, refuse_other_plan
from spark_jobs.frame.results import written
from spark_jobs.hive.job import sync_after_write, sync_asked_for
from spark_jobs.options.bootstrap import BootstrapOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.bootstrap.columns import refuse_missing_columns
from spark_jobs.services.bootstrap.commit import Bootstrap, planned_by
from spark_jobs.services.bootstrap.leftovers import PAST, Leftovers, busy, leftovers_of
from spark_jobs.services.bootstrap.plan import SERVICE, BootstrapPlan, plan_bootstrap
from spark_jobs.services.bootstrap.settings import BootstrapSettings
from spark_jobs.services.bootstrap.source import hive_fields, table_schema
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
    progress.warn(*writer_warnings(options.hoodie_properties()))
    settings = BootstrapSettings.of(options, context.lake)
    service = _Bootstrapping(engine=context.engine, progress=progress, settings=settings, asked=options.plan_hash)
    return run_in_steps(service, _open(settings), progress, dry_run=options.dry_run, plan_hash=options.plan_hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What a run is to do: ``rest`` of the ``whole`` plan is left after the commits that are ``done``; it becomes the
    commits ``wanted``, once what an earlier run ``left`` is removed.
    """

    whole: BootstrapPlan
    rest: BootstrapPlan
    done: tuple[str, ...] = ()
    wanted: tuple[str, ...]
    left: Leftovers = field(default_factory=Leftovers)

    @property
    def facts(self) -> PlanFacts:
        """Those of the whole plan, where no run began it before."""
        before = {"done": list(self.done)} if self.done else {}
        deletions = self.left.deletions
        return PlanFacts(
            service=SERVICE,
            content={**self.rest.content(), **self.left.content(), **before},
            files=len(self.rest.files) + len(deletions),
            bytes=self.rest.bytes + sum(deletions.values()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bootstrapping(ServiceInSteps[HudiTable | None, _Work]):
    """The table of the ``settings``, or what is left of it; ``asked`` is the hash that was given, if one was."""

    engine: Engine
    progress: Progress
    settings: BootstrapSettings
    asked: str | None
    action: ClassVar[str] = SERVICE

    def plan(self, table: HudiTable | None) -> _Work | Nothing:
        used = _used(table) if table is not None else None
        if used is not None:
            return Nothing(used)
        if not self.settings.source.files:
            return Nothing(f"there is no Parquet file below {self.settings.source.path}")
        with self.progress.phase("plan"):
            whole = self._plan_of_source()
        if table is None:
            return _Work(whole=whole, rest=whole, wanted=whole.commits)
        self.settings.refuse_other_table(table.config)
        done = tuple(one.timestamp for one in table.timeline.completed_commits())
        _refuse_other_beginning(table, whole, done)
        wanted = tuple(one for one in whole.commits if one not in done)
        if not wanted:
            reason = f"the table is there already: {_text_of(done)} bootstrapped it from {whole.source}"
            return Nothing(reason, extra={BOOTSTRAPPED: True})
        left = leftovers_of(table.transaction_settings(self.settings.properties), table)
        return _Work(whole=whole, rest=whole.without(done), done=done, wanted=wanted, left=left)

    def facts(self, table: HudiTable | None, plan: _Work) -> PlanFacts:
        return plan.facts

    def requested(self, table: HudiTable | None, plan_hash: str) -> _Work | Nothing:
        """A bootstrap that is done finds nothing to do, whatever its hash was."""
        plan = self.plan(table)
        if not isinstance(plan, Nothing) and not plan.left.is_of(plan_hash, plan.whole.facts()):
            refuse_other_plan(plan_hash, plan.facts, None if table is None else table.timeline)
        return plan

    def without_plan(self, table: HudiTable | None, found: Nothing, progress: Progress) -> None:
        """Heartbeat and markers go that a run left which died right after its last commit."""
        if table is not None and found.extra.get(BOOTSTRAPPED) and not table.timeline.pending_writes():
            roll_back_failed_writes(table.transaction_settings(self.settings.properties))

    def _plan_of_source(self) -> BootstrapPlan:
        settings, source = self.settings, self.settings.source
        schema = table_schema(source, settings.key_spec.partition_fields, settings.name)
        from_folders = hive_fields(source.partitions)
        refuse_missing_columns(schema, settings.key_spec, settings.precombine_field, from_folders)
        return plan_bootstrap(source.files, settings.to_json(), source.path, schema, settings.properties)

    def carry_out(self, table: HudiTable | None, plan: _Work, progress: Progress) -> JobResult:
        table = self._cleared(table)
        if table is None:
            try:
                table = self.settings.create_table()
            except AlreadyExistsError as error:
                raise busy(self.settings.base_path, "another process makes the table") from error
        bootstrap = Bootstrap(
            table=HudiTable.open(table.url, lake=table.lake, lists_storage=True),
            settings=self.settings,
            plan=plan.whole,
            engine=self.engine,
            progress=progress,
            digest=plan.whole.facts().digest,
            asked=self.asked,
        )
        stats, rest = [], plan.rest
        try:
            engine = self.engine.settle(rest.bytes)
            for time in plan.wanted:
                stats += bootstrap.carry_out(time)
        except BaseException:
            bootstrap.undo()
            raise
        transaction = bootstrap.transaction
        maintain_metadata_table(transaction, self.settings.properties, progress.note)
        result = written(SERVICE, table, plan.wanted[-1], stats, files_in=len(rest.files), bytes_in=rest.bytes)
        extra: dict[str, Any] = {**rest.counts(), "instants": list(plan.wanted), "engine": engine, BOOTSTRAPPED: True}
        return replace(result, extra={**extra, "plan_hash": plan.facts.hash_at(transaction.load_timeline())})

    def _cleared(self, table: HudiTable | None) -> HudiTable | None:
        """Without what a dead run left; None where that was all."""
        if table is None:
            return None
        settings = table.transaction_settings(self.settings.properties)
        for target, by in roll_back_failed_writes(settings):
            self.progress.note(f"rolled back {target} of a bootstrap that failed, by {by}")
        timeline = settings.load_timeline()
        if timeline.pending_writes():
            raise busy(self.settings.base_path, f"instant {timeline.pending_writes()[0].timestamp} is under way")
        if timeline.completed_commits():
            return table
        take_back_table(settings, self.progress.note, PAST)
        return _open(self.settings)

    def shown(self, table: HudiTable | None, plan: _Work, progress: Progress) -> JobResult:
        plan_hash = plan.facts.hash_at(None if table is None else table.timeline)
        rest, deletions = plan.rest, plan.left.deletions
        for line in plan.left.lines():
            progress.note(line)
        for file in rest.kept:
            progress.note(f"METADATA_ONLY {file.path} {file.size} bytes")
        for file in rest.copied:
            progress.note(f"FULL_RECORD {file.path} {file.size} bytes")
        before = f"{_text_of(plan.done)} did the others before; " if plan.done else ""
        gone = f"{len(deletions)} file(s) that an earlier run left" if deletions else "nothing"
        progress.note(
            f"bootstrap would leave {len(rest.kept)} file(s) in the source and copy {len(rest.copied)} of "
            f"{rest.bytes_copied} bytes; {before}it deletes {gone}; --plan-hash {plan_hash}"
        )
        content = {
            "hash": plan_hash,
            **rest.content(),
            "done": list(plan.done),
            "deletes": [{"path": path, "bytes": size} for path, size in sorted(deletions.items())],
            "estimate": {"files_out": len(rest.files), "bytes_copied": rest.bytes_copied},
        }
        extra: dict[str, Any] = {**rest.counts(), "plan_hash": plan_hash}
        if plan.left.first.rollbacks:
            content["rolls_back"] = plan.left.first.to_json()
            extra["rolls_back"] = plan.left.first.instants
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


def _refuse_other_beginning(table: HudiTable, plan: BootstrapPlan, done: Sequence[str]) -> None:
    """What an earlier run completed counts as a part of this plan alone."""
    for time in done:
        began = planned_by(table, time)
        if began is not None and began != plan.facts().digest:
            raise WriteConflictError(
                f"instant {time} of table {table.config.name} came of another plan of this bootstrap",
                todo="give the options of that run and leave the source as it was, or remove the table",
                instant=time,
            )


def _text_of(instants: Sequence[str]) -> str:
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
