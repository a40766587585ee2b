"""Options of ``compact.py`` and ``cluster.py``: table services in two steps, plan and execution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.attempt import AttemptOfTask
from spark_jobs.options.choices import EngineKind, ServiceMode
from spark_jobs.options.flags import Kind, flag
from spark_jobs.options.job import Job
from spark_jobs.options.plan_hash import PlanHashOptions
from spark_jobs.options.running import EngineChoice, MaxSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions(PlanHashOptions):
    """``instant_time`` is the pending plan to execute or cancel; without it, the earliest is executed."""

    mode: Annotated[
        ServiceMode, flag("--mode", choices=ServiceMode, help="Plan, execute a plan, both, or take a plan back.")
    ] = ServiceMode.SCHEDULE_AND_EXECUTE
    instant_time: Annotated[str | None, flag("--instant-time", help="Instant of the plan to execute or to cancel.")] = (
        None
    )
    max_bytes: Annotated[
        int | None,
        flag("--max-bytes", kind=Kind.INTEGER, help="Bytes of input; what is more stays planned for a later run."),
    ] = None
    max_seconds: MaxSeconds = None
    engine: EngineChoice = EngineKind.AUTO
    idempotency_key: Annotated[
        str | None,
        flag("--idempotency-key", help="Name of this run; `schedule` makes one plan of the name, a retry finds it."),
    ] = None
    attempt: AttemptOfTask = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOptions(ServiceOptions):
    """Merge the log files of a MERGE_ON_READ table into new base files (``HoodieCompactor``)."""

    job: ClassVar[str] = "compact"

    log_compaction: Annotated[
        bool,
        flag("--log-compaction", kind=Kind.SWITCH, help="Merge blocks of logs into one block, not into base files."),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringOptions(ServiceOptions):
    """Rewrite small or unsorted base files into larger sorted ones (``HoodieClusteringJob``)."""

    job: ClassVar[str] = "cluster"


CLUSTERING = Job(
    name="clustering",
    options=ClusteringOptions,
    runner="spark_jobs.services.clustering.job:run_clustering",
    operator="HudiClusteringOperator",
    sensor="clustering",
    planning={"mode": ServiceMode.SCHEDULE},
)


COMPACTION = Job(
    name="compaction",
    options=CompactionOptions,
    runner="spark_jobs.services.compaction.job:run_compaction",
    operator="HudiCompactionOperator",
    sensor="compaction",
    planning={"mode": ServiceMode.SCHEDULE},
)
