"""Taking a plan off the timeline: asked for, or because it expired. Hudi rolls a pending plan back; so does this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.instant_time import format_instant
from spark_jobs.core.storage.times import now_ms
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.plan_hash import PlanFacts, refuse_other_plan
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import ServiceOptions
from spark_jobs.services.rewriting.context import choose_plan
from spark_jobs.services.rewriting.service import P, RewriteService, carried_out
from spark_jobs.services.rollback.candidates import PrecedingRollbacks, plans_to_roll_back
from spark_jobs.services.rollback.execute import roll_back
from spark_jobs.services.rollback.failed_writes import finish_rollbacks, is_alive
from spark_jobs.services.rollback.pending import pending_rollbacks

_ALL_MINUTES = 60 * 24 * 366 * 100
"""No plan is as old; more minutes would leave the calendar."""


def cancel_plan(
    service: RewriteService[P],
    table: HudiTable,
    settings: TransactionSettings,
    options: ServiceOptions,
    progress: Progress,
) -> JobResult:
    """Roll a pending plan back, with what an execution of it left; the result names the rollback.

    :raises ConfigError: no instant was given, or one that is no pending plan of the service.
    :raises WriteConflictError: a worker executes it just now, the table needs it, or a hash was given and means
        something else.
    """
    if not options.instant_time:
        raise ConfigError("--mode cancel needs --instant-time", todo="give the instant of the pending plan")
    with progress.phase("cancel"), settings.new_lock() as locked:
        table = table.refreshed(locked.storage)
        if options.plan_hash is not None:
            _refuse_other(service, table, locked, options)
        if not options.dry_run:
            finish_rollbacks(locked)
            table = table.refreshed()
        pending = service.pending(table)
        wanted = choose_plan(
            table.timeline,
            pending,
            options.instant_time,
            f"pending {service.action}",
            lambda done: carried_out(service, table, done),
        )
        if wanted is None:
            return Nothing(f"{service.action} {options.instant_time} is completed already").result(
                service.action, table
            )
        if is_alive(locked, wanted):
            raise WriteConflictError(
                f"another process executes {service.action} {wanted.timestamp} just now",
                todo="stop it first, or wait until it is done",
                instant=wanted.timestamp,
            )
        plan = service.read(table, wanted)
        blocked = service.why_not_cancelled(table, wanted, plan)
        if blocked is not None:
            raise WriteConflictError(
                f"{service.action} {wanted.timestamp} can't be taken back: {blocked}",
                todo="execute it",
                instant=wanted.timestamp,
            )
        extra = {**plan.facts(), "cancelled": True}
        shown = None
        if options.dry_run:
            rolled_back = _rolled_back(locked, table, wanted)
            extra["plan_hash"] = _facts(service, wanted.timestamp, rolled_back).hash_at(table.timeline)
            for line in (*rolled_back.lines(), f"--plan-hash {extra['plan_hash']}"):
                progress.note(line)
            deletes = [{"path": path, "bytes": size} for path, size in rolled_back.deletions.items()]
            shown = {"hash": extra["plan_hash"], "cancels": wanted.timestamp, **plan.content(), "deletes": deletes}
            shown["rolls_back"] = rolled_back.to_json()
        else:
            extra["rollback"] = roll_back(locked, table.timeline, wanted).timestamp
    return JobResult(
        action=service.action,
        state=JobState.DRY_RUN if options.dry_run else JobState.COMPLETED,
        instant=wanted.timestamp,
        base_path=table.base_path,
        table=table.config.name,
        files_in=plan.files_in,
        bytes_in=plan.bytes_in,
        plan=shown,
        extra=extra,
    )


def _rolled_back(settings: TransactionSettings, table: HudiTable, plan: Instant) -> PrecedingRollbacks:
    """The rollbacks that are finished first, and that of the plan, with the files that go."""
    finishes = PrecedingRollbacks(rollbacks=pending_rollbacks(settings, table))
    left = [plan] if plan.timestamp not in finishes.instants else []
    return finishes.and_then(plans_to_roll_back(settings, table, left, keep=False))


def _facts(service: RewriteService[P], wanted: str, rolled_back: PrecedingRollbacks) -> PlanFacts:
    """Of taking a plan back: which one, and the files that go."""
    sizes = rolled_back.deletions
    content = {"cancels": wanted, "deletes": sizes}
    return PlanFacts(service=f"{service.action} cancel", content=content, files=len(sizes), bytes=sum(sizes.values()))


def _refuse_other(
    service: RewriteService[P], table: HudiTable, settings: TransactionSettings, options: ServiceOptions
) -> None:
    """Before anything is done; what is no pending plan any more is reported after."""
    for one in service.pending(table):
        if one.timestamp == options.instant_time:
            facts = _facts(service, one.timestamp, _rolled_back(settings, table, one))
            refuse_other_plan(options.plan_hash or "", facts, table.timeline)


def expired_plans(service: RewriteService[P], table: HudiTable, settings: TransactionSettings) -> list[Instant]:
    """Plans that are too old, and that no living process executes."""
    minutes = service.expires_after()
    if minutes is None:
        return []
    now = now_ms(settings.storage, table.timeline.folder, settings.clock)
    back_ms = min(minutes, _ALL_MINUTES) * 60_000
    moment = datetime.fromtimestamp(max(now - back_ms, 0) / 1000, UTC)
    limit = format_instant(moment, settings.config.timezone)
    return [one for one in service.pending(table) if one.precedes(limit) and not is_alive(settings, one)]


def take_back_expired(
    service: RewriteService[P], expired: Sequence[Instant], settings: TransactionSettings, notify: Callable[[str], None]
) -> None:
    """Roll them back; the caller holds the table lock."""
    for one in expired:
        rollback = roll_back(settings, settings.load_timeline(), one)
        notify(
            f"{service.action} {one.timestamp} is older than {service.expires_after()} minutes and was taken back "
            f"(rollback {rollback.timestamp})"
        )
