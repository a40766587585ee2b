"""Options of ``restore.py``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from spark_jobs.options.choices import EngineKind
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.flags import flag
from spark_jobs.options.job import Job
from spark_jobs.options.plan_hash import PlanHashOptions
from spark_jobs.options.running import EngineChoice


class RestoreCheck(StrEnum):
    FILES = "files"
    ROWS = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions(PlanHashOptions):
    """Take a table back to a savepoint or to a commit: everything later is undone for good
    (``SparkRDDWriteClient.restoreToSavepoint``, ``restoreToInstant``).
    """

    job: ClassVar[str] = "restore"

    savepoint: Annotated[str | None, flag("--savepoint", help="Savepoint to go back to.")] = None
    instant_time: Annotated[str | None, flag("--instant-time", help="Commit to go back to, without a savepoint.")] = (
        None
    )
    verify: Annotated[
        RestoreCheck,
        flag(
            "--verify",
            choices=RestoreCheck,
            help="What is compared before and after: the files of the moment gone back to, or its rows as well.",
        ),
    ] = RestoreCheck.FILES
    engine: EngineChoice = EngineKind.AUTO

    def __post_init__(self) -> None:
        PlanHashOptions.__post_init__(self)  # the short form of super needs the class as it was before it got its slots
        if (self.savepoint is None) == (self.instant_time is None):
            raise OptionsError("--savepoint and --instant-time: give one of the two, the moment to go back to")


RESTORE = Job(
    name="restore",
    options=RestoreOptions,
    runner="spark_jobs.services.restore.job:run_restore",
    operator="HudiRestoreOperator",
)
