"""Options of services that show their plan first and then carry out that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.options.base import JobOptions
from spark_jobs.options.flags import flag


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOptions(JobOptions):
    """``plan_hash`` is the one that a dry run printed; with it a service does exactly that, or refuses."""

    plan_hash: Annotated[
        str | None, flag("--plan-hash", help="Do the plan that a dry run printed this hash of, or refuse.")
    ] = None
