"""Validation as ``validate.py`` runs it: in this process, or with its looks into many files on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.in_steps import ServiceInSteps, run_in_steps
from spark_jobs.frame.opening import open_table
from spark_jobs.frame.refresh import with_refresh
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.validate import ValidateOptions
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.run import ATTEMPTS, evidence_of, examine, to_read

ACTION = "validate"
_MOST_LINES = 50


def run_validation(options: ValidateOptions, context: JobContext) -> JobResult:
    """Each finding is a line for the reader and an object of the result.

    :raises StorageError: no table there, or its properties are unreadable.
    """
    progress, service = context.progress, _Validation(options=options, engine=context.engine)
    progress.warn(*unknown_key_warnings(options.hoodie_properties()))
    table = open_table(options, context.lake)
    return with_refresh(table, lambda table: run_in_steps(service, table, progress, dry_run=options.dry_run), ATTEMPTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Validation(ServiceInSteps[HudiTable, Evidence]):
    """Its plan is what is to be looked at, and carrying it out changes nothing."""

    options: ValidateOptions
    engine: Engine
    action: ClassVar[str] = ACTION

    def plan(self, table: HudiTable) -> Evidence:
        return evidence_of(table, self.options.deep)

    def shown(self, table: HudiTable, plan: Evidence, progress: Progress) -> JobResult:
        read, opened = to_read(plan, self.options.deep)
        sizes = [status.size for status in plan.on_storage.values()]
        return JobResult(
            action=ACTION,
            state=JobState.DRY_RUN,
            base_path=table.base_path,
            table=table.config.name,
            files_in=len(sizes),
            bytes_in=sum(sizes),
            plan={"deep": self.options.deep, "files_opened": opened, "bytes_of_rows": read},
        )

    def carry_out(self, table: HudiTable, plan: Evidence, progress: Progress) -> JobResult:
        options = self.options
        validation = examine(plan, options.deep, options.overdue_hours, progress, self.engine)
        found = validation.findings
        for one in found[:_MOST_LINES]:
            progress.note(str(one))
        if len(found) > _MOST_LINES:
            progress.note(f"... and {len(found) - _MOST_LINES} more: see the result")
        errors = sum(one.is_error for one in found)
        return JobResult(
            action=ACTION,
            state=JobState.COMPLETED,
            base_path=table.base_path,
            table=table.config.name,
            files_in=validation.files,
            bytes_in=validation.bytes,
            seconds_by_phase=dict(progress.seconds_by_phase),
            extra={
                "sound": not (found if options.strict else errors),
                "deep": options.deep,
                "engine": validation.engine,
                "errors": errors,
                "warnings": len(found) - errors,
                "findings": [one.to_json() for one in found],
            },
        )


def not_sound(result: JobResult) -> str | None:
    """Why the job ends with 1; None for a sound table, and for a dry run."""
    if result.state is JobState.DRY_RUN or result.extra["sound"]:
        return None
    first = result.extra["findings"][0]
    counts = f"{result.extra['errors']} error(s), {result.extra['warnings']} warning(s)"
    return f"the table is not sound: {counts}; the first at {first['path']}"
