"""The option that says when what is pending is too late; of the jobs that look at a table."""

from __future__ import annotations

from typing import Annotated

from spark_jobs.options.flags import Kind, flag

OverdueHours = Annotated[
    int,
    flag(
        "--overdue-hours", kind=Kind.INTEGER, least=0, help="Hours that an instant may be pending without a heartbeat."
    ),
]
