"""Health as ``health.py`` runs it, in this process: report on stderr, picture, result."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TextIO

from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.output_file import OutputFile
from spark_jobs.engine.progress import Progress, columns_of, say
from spark_jobs.frame.in_steps import ServiceInSteps, run_in_steps
from spark_jobs.frame.opening import open_table
from spark_jobs.options.health import HealthOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.health.advice import Advice, advise
from spark_jobs.services.health.facts import Health
from spark_jobs.services.health.measure import measure
from spark_jobs.services.health.picture import draw
from spark_jobs.services.health.text import ASCII, BLOCKS, report

ACTION = "health"
_PLAIN_WIDTH = 100


def run_health(options: HealthOptions, context: JobContext) -> JobResult:
    """
    :raises StorageError: no table there, or the picture can't be written.
    :raises OptionsError: the picture's place is no regular file, or inside a table.
    """
    progress, properties = context.progress, options.effective().hoodie_properties()
    progress.warn(*unknown_key_warnings(properties))
    table = open_table(options, context.lake, lists_storage=options.list_storage)
    place = options.picture
    picture = OutputFile.checked("--picture", place, table.url, table.lake) if place else None
    service = _HealthReport(options=options, properties=properties, picture=picture, progress=progress)
    return run_in_steps(service, table, progress, dry_run=options.dry_run)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    health: Health
    advice: Sequence[Advice]


@dataclass(frozen=True, slots=True, kw_only=True)
class _HealthReport(ServiceInSteps[HudiTable, _Measured]):
    """Its plan is what was measured; to carry it out is to report it, in text and as a ``picture``."""

    options: HealthOptions
    properties: Mapping[str, str]
    picture: OutputFile | None
    progress: Progress
    action: ClassVar[str] = ACTION

    def plan(self, table: HudiTable) -> _Measured:
        options = self.options
        health = measure(table, self.properties, options.overdue_hours, self.progress, footers=options.footers)
        return _Measured(health=health, advice=advise(health))

    def shown(self, table: HudiTable, plan: _Measured, progress: Progress) -> JobResult:
        reports = {"text": not self.options.json, "picture": self.options.picture}
        return replace(_result(table, plan, progress), state=JobState.DRY_RUN, plan=reports)

    def carry_out(self, table: HudiTable, plan: _Measured, progress: Progress) -> JobResult:
        if self.picture:
            self.picture.write(draw(plan.health, plan.advice).encode())
        if not self.options.json:
            text = report(plan.health, plan.advice, _width(sys.stderr), marks_of(sys.stderr))
            say(sys.stderr, text, end="")
        return _result(table, plan, progress)


def _result(table: HudiTable, measured: _Measured, progress: Progress) -> JobResult:
    health = measured.health
    return JobResult(
        action=ACTION,
        state=JobState.COMPLETED,
        base_path=table.base_path,
        table=table.config.name,
        files_in=health.base_files + health.logs,
        bytes_in=health.base_bytes + health.log_bytes,
        records_in=health.rows or 0,
        seconds_by_phase=dict(progress.seconds_by_phase),
        extra={"health": health.to_json(), "advice": [one.to_json() for one in measured.advice]},
    )


def _width(stream: TextIO) -> int:
    return columns_of(stream) if stream.isatty() else _PLAIN_WIDTH


def marks_of(stream: TextIO) -> tuple[str, str]:
    """Block characters where the stream can show them."""
    try:
        "".join(BLOCKS).encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS
