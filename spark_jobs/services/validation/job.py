"""Validation as ``validate.py`` runs it: in this process, or with its looks into many files on Spark."""

from __future__ import annotations

from spark_jobs.engine.context import JobContext
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.validate import ValidateOptions
from spark_jobs.services.frame.opening import open_table
from spark_jobs.services.validation.run import inspect

ACTION = "validate"
_MOST_LINES = 50


def run_validation(options: ValidateOptions, context: JobContext) -> JobResult:
    """Each finding is a line for the reader and an object of the result.

    :raises StorageError: no table there, or its properties are unreadable.
    """
    progress, table = context.progress, open_table(options, context.lake)
    validation = inspect(table, options.deep, options.overdue_hours, progress, context.engine)
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
    """Why the job ends with 1; None for a sound table."""
    if result.extra["sound"]:
        return None
    first = result.extra["findings"][0]
    counts = f"{result.extra['errors']} error(s), {result.extra['warnings']} warning(s)"
    return f"the table is not sound: {counts}; the first at {first['path']}"
