"""Options of services that show their plan first and then carry out that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.options.base import JobOptions
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.flags import flag


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanHashOptions(JobOptions):
    """``plan_hash`` is the one that a dry run printed; with it a service does exactly that, or refuses."""

    plan_hash: Annotated[
        str | None, flag("--plan-hash", help="Do the plan that a dry run printed this hash of, or refuse.")
    ] = None

    def __post_init__(self) -> None:
        JobOptions.__post_init__(self)  # the short form of super needs the class as it was before it got its slots
        if self.plan_hash is not None and self.plan_hash.strip() in ("", "None"):
            raise OptionsError("--plan-hash came to nothing: give the hash that a dry run printed, or leave it out")
