"""Health as ``health.py`` runs it, in this process: report on stderr, picture, result."""

from __future__ import annotations

import sys
from typing import TextIO

from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.output_file import OutputFile
from spark_jobs.engine.progress import columns_of, say
from spark_jobs.options.health import HealthOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.frame.opening import open_table
from spark_jobs.services.health.advice import advise
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
    for line in unknown_key_warnings(properties):
        progress.note(f"warning: {line}")
    table = open_table(options, context.lake, lists_storage=options.list_storage)
    place = options.picture
    picture = OutputFile.checked("--picture", place, table.url, table.lake) if place else None
    health = measure(table, properties, options.overdue_hours, progress, footers=options.footers)
    advice = advise(health)
    if picture:
        picture.write(draw(health, advice).encode())
    if not options.json:
        say(sys.stderr, report(health, advice, _width(sys.stderr), marks_of(sys.stderr)), end="")
    return JobResult(
        action=ACTION,
        state=JobState.COMPLETED,
        base_path=table.base_path,
        table=table.config.name,
        files_in=health.base_files + health.logs,
        bytes_in=health.base_bytes + health.log_bytes,
        records_in=health.rows or 0,
        seconds_by_phase=dict(progress.seconds_by_phase),
        extra={"health": health.to_json(), "advice": [one.to_json() for one in advice]},
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
