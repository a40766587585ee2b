"""Options of ``compact.py`` and ``cluster.py``: table services in two steps, plan and execution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.base import JobOptions
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.flags import flag


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions(JobOptions):
    """``instant_time`` is the pending plan to execute; without it, the earliest."""

    mode: Annotated[ServiceMode, flag("--mode", choices=ServiceMode, help="Plan, execute a plan, or both.")] = (
        ServiceMode.SCHEDULE_AND_EXECUTE
    )
    instant_time: Annotated[str | None, flag("--instant-time", help="Instant of the plan to execute.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOptions(ServiceOptions):
    """Merge the log files of a MERGE_ON_READ table into new base files (``HoodieCompactor``)."""

    job: ClassVar[str] = "compact"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringOptions(ServiceOptions):
    """Rewrite small or unsorted base files into larger sorted ones (``HoodieClusteringJob``)."""

    job: ClassVar[str] = "cluster"
