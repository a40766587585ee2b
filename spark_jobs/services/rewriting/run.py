"""The way of every service that rewrites files by a plan: schedule it, carry it out, both, or take it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Generic

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import Instant, State
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings, schedule
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.budget import Budget, that_fit
from spark_jobs.frame.estimate import estimate
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import open_to_change
from spark_jobs.frame.plan_hash import PLAN_HASH_KEY, PLAN_KEY, digest_of, refuse_other_plan
from spark_jobs.frame.results import done_by_hash
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import ServiceOptions
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.rewriting.cancel import cancel_plan, expired_plans, take_back_expired
from spark_jobs.services.rewriting.completion import CompletionRecords
from spark_jobs.services.rewriting.context import choose_plan
from spark_jobs.services.rewriting.execution import Execution
from spark_jobs.services.rewriting.service import P, RewriteService, carried_out
from spark_jobs.services.rollback.candidates import PrecedingRollbacks, failed_writes_to_roll_back, plans_to_roll_back
from spark_jobs.services.rollback.failed_writes import is_alive, undo_failed_writes
from spark_jobs.services.run_generation import RunRecord, generation_key
from spark_jobs.services.upkeep import maintain_table


def run_service(service: RewriteService[P], options: ServiceOptions, context: JobContext) -> JobResult:
    """Run a service in the mode that was asked for.

    :raises ConfigError: a table that it has nothing to do with, an instant that is none of its plans, or what is no
        hash of a plan.
    :raises WriteConflictError: the plan is not the one of the hash that was given, or can't be taken back.
    """
    progress = context.progress
    digest = digest_of(options.plan_hash) if options.plan_hash is not None else ""
    if options.instant_time is not None and not options.instant_time:
        raise ConfigError("--instant-time is empty", todo="give the instant of a pending plan, or leave it out")
    opened = open_to_change(options, context)
    table, properties = opened.table, opened.properties
    service.refuse(table)
    options, generation = _of_generation(table, options)
    job = _Job(
        service=service,
        engine=context.engine,
        options=options,
        progress=progress,
        settings=opened.settings,
        digest=digest,
        budget=Budget.start(options.max_bytes, options.max_seconds, table.clock),
    )
    if options.mode is ServiceMode.CANCEL:
        return cancel_plan(service, table, job.settings, options, progress)
    scheduled = None
    if options.mode is not ServiceMode.EXECUTE:
        with progress.phase("schedule"):
            scheduled = job.schedule(table)
        if options.mode is ServiceMode.SCHEDULE or options.dry_run or scheduled.state is JobState.COMPLETED:
            return replace(scheduled, extra={**scheduled.extra, **generation})
    result = job.execute(table.refreshed(), scheduled.instant if scheduled else None)
    if result.state is JobState.COMPLETED:
        maintain_metadata_table(job.settings, properties, progress.note)
        maintain_table(job.settings, properties, progress)
        result = replace(result, seconds_by_phase=dict(progress.seconds_by_phase))
    return scheduled if scheduled is not None and result.state is JobState.NOTHING_TO_DO else result


def _of_generation(table: HudiTable, options: ServiceOptions) -> tuple[ServiceOptions, dict[str, int]]:
    """The options with the key of the first generation that has not ended, where a task is behind them: planning once
    more harms nothing, so what can't be known does not matter here.
    """
    name = options.idempotency_key
    if not name or not options.attempt or options.dry_run or options.mode is not ServiceMode.SCHEDULE:
        return options, {}
    number = RunRecord.read(table.storage, table.base_path, name).ended
    return replace(options, idempotency_key=generation_key(name, number)), {"generation": number}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job(Generic[P]):
    service: RewriteService[P]
    engine: Engine
    options: ServiceOptions
    progress: Progress
    settings: TransactionSettings
    digest: str
    """Of the hash that was given; empty without one."""
    budget: Budget

    def schedule(self, table: HudiTable) -> JobResult:
        """Put a plan on the timeline for what no pending plan has. Where that is nothing, or a pending plan is the
        one that was asked for, the result is that plan.
        """
        service, asked = self.service, self.options.plan_hash
        with nullcontext(self.settings) if self.options.dry_run else self.settings.new_lock() as locked:
            table = table.refreshed(locked.storage)
            done = self._done_before(table)
            if done is not None:
                return done
            expired = expired_plans(service, table, locked)
            after = table.without(expired)
            waiting = service.pending(after)
            chosen, why_no_other = self._requested_plan(after, waiting), ""
            plan = service.read(after, chosen) if chosen is not None else self._new_plan(after)
            if asked and chosen is None:
                refuse_other_plan(
                    asked, plan if isinstance(plan, Nothing) else service.facts(table, plan), table.timeline
                )
            elif isinstance(plan, Nothing) and waiting:
                chosen, why_no_other = waiting[0], plan.reason
                plan = service.read(after, chosen)
            if expired and not self.options.dry_run:
                take_back_expired(service, expired, locked, self.progress.note)
                table = table.refreshed()
            first = PrecedingRollbacks()
            if self.options.dry_run:
                first = plans_to_roll_back(locked, table, expired, keep=False)
            if isinstance(plan, Nothing):
                extra = {"rolls_back": first.instants} if first.instants else {}
                return replace(plan, extra=extra).result(service.action, table)
            if self.options.dry_run and self.options.mode is not ServiceMode.SCHEDULE:
                first = first.and_then(self._preceding_rollbacks(after, plan, chosen))
            if chosen is not None:
                reason = self._why_planned_already(chosen, waiting, why_no_other)
                return replace(self._shown_or_scheduled(table, plan, chosen.timestamp, first), reason=reason)
            if self.options.dry_run:
                return self._shown_or_scheduled(table, plan, None, first)
            requested = service.payload(table, plan, self._note())
            instant = schedule(locked, service.timeline_action, table.timeline, requested)
            return self._shown_or_scheduled(table, plan, instant.timestamp)

    def execute(self, table: HudiTable, scheduled: str | None) -> JobResult:
        """Carry out a plan that stands on the timeline, or as much of it as fits.

        :param scheduled: the instant of the plan that this run made or found.
        """
        service = self.service
        named = self.options.instant_time or scheduled
        pending = service.pending(table)
        if self.options.plan_hash and scheduled is None:
            done = self._done_before(table)
            if done is not None:
                return done
            asked_for = self._by_hash(table, pending)
            if asked_for is None:
                now = (
                    service.facts(table, service.read(table, pending[0]))
                    if pending
                    else Nothing(f"no {service.action} is planned")
                )
                refuse_other_plan(self.options.plan_hash, now, table.timeline)
            pending = [asked_for] if asked_for is not None else []
        words = f"pending {service.action}"
        wanted = choose_plan(table.timeline, pending, named, words, lambda done: carried_out(service, table, done))
        if wanted is None:
            reason = f"{service.action} {named} is completed already" if named else f"no {service.action} is planned"
            return Nothing(reason).result(service.action, table)
        if self.options.dry_run:
            plan = service.read(table, wanted)
            return self._shown_or_scheduled(
                table, plan, wanted.timestamp, self._preceding_rollbacks(table, plan, wanted)
            )
        undo_failed_writes(self.settings, self.progress)
        execution = Execution(
            service=service,
            engine=self.engine,
            settings=self.settings,
            budget=self.budget,
            progress=self.progress,
            note=self._hash_note(),
        )
        return execution.run(table.refreshed(), wanted)

    def _new_plan(self, table: HudiTable) -> P | Nothing:
        """What is due and fits the budget."""
        plan = self.service.plan(table)
        if isinstance(plan, Nothing):
            return plan
        guess = estimate(table, self.service.operation, plan.bytes_in - plan.log_bytes, plan.log_bytes)
        pace = guess.rate * plan.bytes_in / max(guess.bytes_out, 1)
        limit = self.budget.bytes_at(pace)
        fitting = that_fit(plan.piece_bytes, limit)
        if not fitting and self.budget.max_bytes is not None and min(plan.piece_bytes) > self.budget.max_bytes:
            return Nothing(
                f"the smallest of {len(plan.piece_bytes)} {self.service.piece}(s) has {min(plan.piece_bytes)} bytes, "
                f"more than {self.budget.text()}"
            )
        if len(fitting) == len(plan.piece_bytes):
            return plan
        left = len(plan.piece_bytes) - max(len(fitting), 1)
        self.progress.note(f"{left} {self.service.piece}(s) are left for a later plan ({self.budget.text()})")
        return plan.only(fitting or [plan.piece_bytes.index(min(plan.piece_bytes))])

    def _requested_plan(self, table: HudiTable, pending: list[Instant]) -> Instant | None:
        """The pending plan that this run is about: that of its hash; when it is to execute too, the oldest; that of an
        earlier attempt by its key.
        """
        if self.options.plan_hash:
            return self._by_hash(table, pending)
        if self.options.mode is not ServiceMode.SCHEDULE:
            return pending[0] if pending else None
        key = self._key()
        return next((one for one in pending if key and self._note_of(table, one).get(PLAN_KEY) == key), None)

    def _by_hash(self, table: HudiTable, pending: list[Instant]) -> Instant | None:
        """The pending plan of the hash that was given."""
        asked = self.options.plan_hash or ""
        for instant in pending:
            if self._note_of(table, instant).get(PLAN_HASH_KEY) == self.digest:
                return instant
            if self.service.facts(table, self.service.read(table, instant)).is_requested_by(asked):
                return instant
        return None

    def _done_before(self, table: HudiTable) -> JobResult | None:
        """A plan that was scheduled or carried out by this hash, or scheduled by an earlier attempt of this run, and is
        completed: a retry finds it done.
        """
        asked, key = self.options.plan_hash, self._key()
        if not asked and not key:
            return None
        name, wanted = (PLAN_HASH_KEY, self.digest) if asked else (PLAN_KEY, key)
        timeline = table.timeline
        for instant in reversed(timeline.completed_commits()):
            if not carried_out(self.service, table, instant):
                continue
            plan = Instant(instant.timestamp, self.service.timeline_action, State.REQUESTED)
            result = timeline.commit_metadata(instant, table.clock).extra_metadata if asked else {}
            if wanted not in (self._note_of(table, plan).get(name), result.get(name)):
                continue
            service, time = self.service.action, instant.timestamp
            if asked:
                reason = f"{service} {time} carried out this plan before"
                return done_by_hash(service, table, asked, instant=time, reason=reason)
            return JobResult(
                action=service,
                state=JobState.COMPLETED,
                instant=time,
                repeated=True,
                reason=f"{service} {time} was planned under idempotency key {key} before, and is completed",
                base_path=table.base_path,
                table=table.config.name,
            )
        return None

    def _key(self) -> str:
        """Empty where a second run may make a second plan."""
        return self.options.idempotency_key or "" if self.options.mode is ServiceMode.SCHEDULE else ""

    def _note(self) -> dict[str, str]:
        """What a new plan says of the run that made it."""
        key = self._key()
        return {**self._hash_note(), **({PLAN_KEY: key} if key else {})}

    def _hash_note(self) -> dict[str, str]:
        return {PLAN_HASH_KEY: self.digest} if self.digest else {}

    def _note_of(self, table: HudiTable, plan: Instant) -> Mapping[str, str]:
        return self.service.note(table, plan)

    def _why_planned_already(self, chosen: Instant, waiting: Sequence[Instant], why_no_other: str) -> str:
        name = self.service.action
        others = f" (one of {len(waiting)} pending plans)" if len(waiting) > 1 else ""
        why = f"; no other is made: {why_no_other}" if why_no_other else ""
        return f"{name} {chosen.timestamp} is planned already and was not completed yet{others}{why}"

    def _preceding_rollbacks(self, table: HudiTable, plan: P, chosen: Instant | None) -> PrecedingRollbacks:
        """What an execution undoes before it begins: what dead writers left, and what a dead worker did of the plan
        where no piece of it was finished.
        """
        first = failed_writes_to_roll_back(self.settings, table)
        if chosen is None or chosen.state is not State.INFLIGHT or is_alive(self.settings, chosen):
            return first
        pieces = len(plan.piece_bytes)
        is_gone_on_with = CompletionRecords.of(table.timeline, table.base_path, chosen, pieces).finished()
        if is_gone_on_with or chosen.timestamp in first.instants:  # or a rollback of it, left pending, is finished
            return first
        return first.and_then(plans_to_roll_back(self.settings, table, [chosen], keep=True))

    def _shown_or_scheduled(
        self, table: HudiTable, plan: P, instant: str | None, first: PrecedingRollbacks | None = None
    ) -> JobResult:
        """
        :param first: of a dry run: what is rolled back before the plan is executed.
        """
        facts = self.service.facts(table, plan)
        guess = estimate(table, self.service.operation, plan.bytes_in - plan.log_bytes, plan.log_bytes)
        shown = facts.hash_at(table.timeline)
        given: dict[str, Any] | None = None
        extra: dict[str, Any] = {}
        if self.options.dry_run:
            first = first or PrecedingRollbacks()
            self._note_plan(plan, first, shown, f"{guess.bytes_out} bytes in {guess.seconds} s by {guess.based_on}")
            deletes = [{"path": path, "bytes": size} for path, size in first.deletions.items()]
            given = {"hash": shown, **plan.content(), "deletes": deletes, "estimate": guess.to_json()}
            if first.rollbacks:
                given["rolls_back"] = first.to_json()
                extra["rolls_back"] = first.instants
        return JobResult(
            action=self.service.action,
            state=JobState.SCHEDULED if given is None else JobState.DRY_RUN,
            instant=instant,
            base_path=table.base_path,
            table=table.config.name,
            files_in=plan.files_in,
            bytes_in=plan.bytes_in,
            plan=given,
            extra={**plan.facts(), "plan_hash": shown, "estimate": guess.to_json(), **extra},
        )

    def _note_plan(self, plan: P, first: PrecedingRollbacks, shown: str, guess: str) -> None:
        """The plan of a dry run as text."""
        for line in (*first.lines(), *plan.lines()):
            self.progress.note(line)
        deletes = "no file of a reader" if first.deletions else "nothing"
        self.progress.note(
            f"{self.service.action} would read {plan.files_in} file(s) of {plan.bytes_in} bytes and write about {guess}"
            f"; it deletes {deletes}, cleaning does later; --plan-hash {shown}"
        )
