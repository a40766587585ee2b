"""The way of every service that rewrites files by a plan: schedule it, carry it out, or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Protocol, TypeVar

from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.instant import Action, Instant
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.transaction.transaction import TransactionSettings, schedule
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import ServiceOptions
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.outcome import nothing_to_do, written
from spark_jobs.services.rewrite import choose_plan, claim
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes, undo


class Plan(Protocol):
    """What a service is going to read; the counts are of files and bytes."""

    @property
    def files_in(self) -> int: ...

    @property
    def bytes_in(self) -> int: ...

    def to_json(self) -> dict[str, Any]:
        """For a person: the exact input."""
        ...

    def facts(self) -> dict[str, Any]:
        """What the result tells of the plan beside the counts."""
        ...


P = TypeVar("P", bound=Plan)


class RewriteService(Protocol[P]):
    """What one service knows: when it is due, what it plans, and what a worker does with each piece."""

    name: ClassVar[str]
    action: ClassVar[Action]
    phase: ClassVar[str]
    """Name of the phase in which the pieces are done."""

    def refuse(self, table: HudiTable) -> None:
        """
        :raises ConfigError: the service has nothing to do with such a table.
        """
        ...

    def pending(self, table: HudiTable) -> list[Instant]:
        """Plans on the timeline that nobody completed, oldest first."""
        ...

    def plan(self, table: HudiTable) -> P | str:
        """A new plan, or why there is none, with the numbers that decided."""
        ...

    def encode(self, table: HudiTable, plan: P) -> bytes:
        """The content of the requested file."""
        ...

    def read(self, table: HudiTable, instant: Instant) -> P:
        """A plan on the timeline, this project's or Hudi's."""
        ...

    def work(
        self, table: HudiTable, instant: str, plan: P
    ) -> tuple[Sequence[Any], Callable[[Any, TaskScope], list[WriteStat]]]:
        """The pieces, and what a worker does with each; both pickle."""
        ...

    def commit(self, table: HudiTable, instant: str, plan: P, stats: Sequence[WriteStat]) -> CommitMetadata:
        """What the completed file says."""
        ...

    def contended(self, plan: P) -> frozenset[FileGroupKey]:
        """File groups that no writer may have changed meanwhile."""
        ...


def run_service(service: RewriteService[P], engine: Engine, options: ServiceOptions, progress: Progress) -> JobResult:
    """Run a service in the mode that was asked for.

    :raises ConfigError: a table that it has nothing to do with, or an instant that is none of its plans.
    """
    properties = options.effective().hoodie_properties()
    for line in unknown_key_warnings(properties):
        progress.note(f"warning: {line}")
    table = HudiTable.open(options.base_path, lists_storage=True)
    refuse_unwritable(table.config)
    service.refuse(table)
    settings = table.transaction_settings(properties)
    scheduled = None
    if options.mode is not ServiceMode.EXECUTE:
        with progress.phase("schedule"):
            scheduled = _schedule(service, table, settings, dry_run=options.dry_run)
        if options.mode is ServiceMode.SCHEDULE or options.dry_run:
            return scheduled
    result = _execute(service, engine, table.refreshed(), settings, options, progress)
    return scheduled if scheduled is not None and result.state is JobState.NOTHING_TO_DO else result


def _schedule(
    service: RewriteService[P], table: HudiTable, settings: TransactionSettings, *, dry_run: bool
) -> JobResult:
    with nullcontext() if dry_run else settings.new_lock():
        table = table.refreshed()
        waiting = service.pending(table)
        if waiting:
            time = waiting[0].timestamp
            return replace(
                _planned(service, table, service.read(table, waiting[0]), time, dry_run=dry_run),
                reason=f"{service.name} {time} is planned already and was not executed yet",
            )
        plan = service.plan(table)
        if isinstance(plan, str):
            return nothing_to_do(service.name, table, plan)
        if dry_run:
            return _planned(service, table, plan, None, dry_run=True)
        instant = schedule(settings, service.action, table.timeline, service.encode(table, plan))
        return _planned(service, table, plan, instant.timestamp, dry_run=False)


def _planned(service: RewriteService[P], table: HudiTable, plan: P, instant: str | None, *, dry_run: bool) -> JobResult:
    return JobResult(
        action=service.name,
        state=JobState.DRY_RUN if dry_run else JobState.SCHEDULED,
        instant=instant,
        base_path=table.base_path,
        table=table.config.name,
        files_in=plan.files_in,
        bytes_in=plan.bytes_in,
        plan=plan.to_json() if dry_run else None,
        extra=plan.facts(),
    )


def _execute(
    service: RewriteService[P],
    engine: Engine,
    table: HudiTable,
    settings: TransactionSettings,
    options: ServiceOptions,
    progress: Progress,
) -> JobResult:
    asked = options.instant_time
    wanted = choose_plan(table.timeline, service.pending(table), asked, f"pending {service.name}")
    if wanted is None:
        reason = f"{service.name} {asked} is completed already" if asked else f"no {service.name} is planned"
        return nothing_to_do(service.name, table, reason)
    if options.dry_run:
        return _planned(service, table, service.read(table, wanted), wanted.timestamp, dry_run=True)
    for undone, by in roll_back_failed_writes(settings):
        progress.note(f"rolled back {undone}, whose writer is gone (rollback {by})")
    transaction = claim(settings, wanted, progress.note)
    if transaction is None:
        return nothing_to_do(service.name, table, f"another process completed {service.name} {wanted.timestamp}")
    try:
        transaction.to_inflight()
        table = table.refreshed()
        plan = service.read(table, wanted)
        pieces, work = service.work(table, wanted.timestamp, plan)
        with progress.phase(service.phase, len(pieces)) as phase:
            stats = [stat for some in engine.run_each(pieces, work, phase.advance) for stat in some]
        with progress.phase("publish"):
            data = service.commit(table, wanted.timestamp, plan, stats).encode()
            done = transaction.publish(data, service.contended(plan), written=written_paths(stats))
    except BaseException:
        transaction.abandon()
        undo(settings, transaction.time, progress.note)
        raise
    maintain_metadata_table(settings, options.effective().hoodie_properties(), progress.note)
    seconds = dict(progress.seconds_by_phase)
    counts = {"files_in": plan.files_in, "bytes_in": plan.bytes_in, "seconds_by_phase": seconds}
    return written(service.name, table, done.timestamp, stats, **counts)
