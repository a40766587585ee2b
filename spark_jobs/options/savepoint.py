"""Options of ``savepoint.py``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from spark_jobs.options.base import JobOptions
from spark_jobs.options.flags import flag
from spark_jobs.options.job import Job


class SavepointMode(StrEnum):
    CREATE = "create"
    DELETE = "delete"
    LIST = "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointOptions(JobOptions):
    """Keep the files of a commit from cleaning, and the commit from archival, until the savepoint is deleted."""

    job: ClassVar[str] = "savepoint"

    mode: Annotated[SavepointMode, flag("--mode", choices=SavepointMode, help="What to do.")] = SavepointMode.CREATE
    instant_time: Annotated[
        str | None, flag("--instant-time", help="Commit to save; the last one if not given. To delete, it is needed.")
    ] = None
    user: Annotated[str | None, flag("--user", help="Who saves it.")] = None
    comments: Annotated[str | None, flag("--comments", help="Why.")] = None


SAVEPOINT = Job(
    name="savepoint",
    options=SavepointOptions,
    runner="spark_jobs.services.savepoint.job:run_savepoint",
    operator="HudiSavepointOperator",
)
