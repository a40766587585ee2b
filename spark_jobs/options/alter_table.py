"""Options of ``alter_table.py``: a statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.flags import flag
from spark_jobs.options.job import Job
from spark_jobs.options.plan_hash import PlanHashOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTableOptions(PlanHashOptions):
    """Change the columns of a table (``AlterTableCommand``); ``ddl`` or ``ddl_file`` has the statement."""

    job: ClassVar[str] = "alter_table"

    ddl: Annotated[str | None, flag("--ddl", help="An alter table ... of columns.")] = None
    ddl_file: Annotated[str | None, flag("--ddl-file", help="Path or URL of a file with the statement.")] = None


ALTER_TABLE = Job(
    name="alter table",
    options=AlterTableOptions,
    runner="spark_jobs.ddl.alter_job:run_alter_table",
    operator="HudiAlterTableOperator",
)
