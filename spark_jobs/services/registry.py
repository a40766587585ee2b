"""What can be run: each job by name, with its options, its function, its file and its operator.

Light: importing it imports the options alone. The function of a job is imported when it runs, so that whoever parses a
DAG, prints a help text or names the job that would mend something pays for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spark_jobs.options import (
    AlterTableOptions,
    ArchiveOptions,
    BootstrapOptions,
    CleanOptions,
    ClusteringOptions,
    CompactionOptions,
    CreateTableOptions,
    HealthOptions,
    HiveSyncOptions,
    IndexingOptions,
    IngestOptions,
    JobOptions,
    JobResult,
    RepairOptions,
    RestoreOptions,
    RollbackOptions,
    SavepointOptions,
    ServiceMode,
    ValidateOptions,
)

if TYPE_CHECKING:
    from spark_jobs.engine.context import JobContext
    from spark_jobs.engine.failure import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """``name`` is how Hudi calls the service.

    ``runner`` is ``module:function``, the function ``run_...(options, context) -> JobResult``; ``judge`` another one,
    where a result can end the job with an exit code of its own. ``operator`` is a class of the provider; empty where it
    has none. ``sensor`` is the word by which ``HudiTableServiceSensor`` waits until the service is due, which a dry
    run with the options ``planning`` says; empty where it does not.
    """

    name: str
    options: type[JobOptions]
    runner: str
    operator: str = ""
    judge: str = ""
    sensor: str = ""
    planning: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """Of the entry point, in ``spark_jobs/``."""
        return f"{self.options.job}.py"

    def run(self, options: JobOptions, context: JobContext) -> JobResult:
        """
        :param options: of the type that the job has.
        :raises HudiError: as its function says.
        """
        result: JobResult = _named(self.runner)(options, context)
        return result

    def verdict(self, result: JobResult) -> str | Failure | None:
        """What the job ends with, where it is not done all the same."""
        verdict: str | Failure | None = _named(self.judge)(result) if self.judge else None
        return verdict


def _named(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


_PLAN_ONLY = {"mode": ServiceMode.SCHEDULE}

ALTER_TABLE = Job(
    name="alter table",
    options=AlterTableOptions,
    runner="spark_jobs.ddl.alter_job:run_alter_table",
    operator="HudiAlterTableOperator",
)
ARCHIVAL = Job(
    name="archival",
    options=ArchiveOptions,
    runner="spark_jobs.services.archival.job:run_archival",
    operator="HudiArchiveOperator",
)
BOOTSTRAP = Job(
    name="bootstrap",
    options=BootstrapOptions,
    runner="spark_jobs.services.bootstrap.job:run_bootstrap",
    operator="HudiBootstrapOperator",
)
CLEANING = Job(
    name="cleaning",
    options=CleanOptions,
    runner="spark_jobs.services.cleaning.job:run_cleaning",
    operator="HudiCleanOperator",
    sensor="clean",
)
CLUSTERING = Job(
    name="clustering",
    options=ClusteringOptions,
    runner="spark_jobs.services.clustering.job:run_clustering",
    operator="HudiClusteringOperator",
    sensor="clustering",
    planning=_PLAN_ONLY,
)
COMPACTION = Job(
    name="compaction",
    options=CompactionOptions,
    runner="spark_jobs.services.compaction.job:run_compaction",
    operator="HudiCompactionOperator",
    sensor="compaction",
    planning=_PLAN_ONLY,
)
CREATE_TABLE = Job(name="create table", options=CreateTableOptions, runner="spark_jobs.ddl.job:run_create_table")
HEALTH = Job(
    name="health",
    options=HealthOptions,
    runner="spark_jobs.services.health.job:run_health",
    operator="HudiHealthOperator",
)
HIVE_SYNC = Job(
    name="hive sync",
    options=HiveSyncOptions,
    runner="spark_jobs.hive.job:run_hive_sync",
    operator="HudiHiveSyncOperator",
)
INDEXING = Job(
    name="indexing",
    options=IndexingOptions,
    runner="spark_jobs.services.indexing.job:run_indexing",
    operator="HudiIndexingOperator",
)
INGEST = Job(
    name="ingest",
    options=IngestOptions,
    runner="spark_jobs.write.job:run_ingest",
    operator="HudiIngestOperator",
    judge="spark_jobs.write.job:misfit",
)
REPAIR = Job(
    name="repair",
    options=RepairOptions,
    runner="spark_jobs.services.repair.job:run_repair",
    operator="HudiRepairOperator",
)
RESTORE = Job(
    name="restore",
    options=RestoreOptions,
    runner="spark_jobs.services.restore.job:run_restore",
    operator="HudiRestoreOperator",
)
ROLLBACK = Job(
    name="rollback",
    options=RollbackOptions,
    runner="spark_jobs.services.rollback.job:run_rollback",
    operator="HudiRollbackOperator",
)
SAVEPOINT = Job(
    name="savepoint",
    options=SavepointOptions,
    runner="spark_jobs.services.savepoint.job:run_savepoint",
    operator="HudiSavepointOperator",
)
VALIDATION = Job(
    name="validation",
    options=ValidateOptions,
    runner="spark_jobs.services.validation.job:run_validation",
    operator="HudiValidateOperator",
    judge="spark_jobs.services.validation.job:not_sound",
)

JOBS = (
    ALTER_TABLE,
    ARCHIVAL,
    BOOTSTRAP,
    CLEANING,
    CLUSTERING,
    COMPACTION,
    CREATE_TABLE,
    HEALTH,
    HIVE_SYNC,
    INDEXING,
    INGEST,
    REPAIR,
    RESTORE,
    ROLLBACK,
    SAVEPOINT,
    VALIDATION,
)
SENSED: Mapping[str, Job] = {one.sensor: one for one in (COMPACTION, CLUSTERING, CLEANING)}
"""By the word of the sensor, in the order in which it names them."""
