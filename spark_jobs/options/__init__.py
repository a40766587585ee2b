"""Options shared by operators and jobs, and the result that a job hands back; standard library only."""

from spark_jobs.options.alter_table import AlterTableOptions
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.base import JobOptions
from spark_jobs.options.bootstrap import BootstrapOptions
from spark_jobs.options.choices import EngineKind, Operation, Repair, ServiceMode, TableType
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.create_table import CreateTableOptions
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.health import HealthOptions
from spark_jobs.options.hive_sync import HiveSyncOptions
from spark_jobs.options.indexing import IndexingMode, IndexingOptions, IndexType
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.plan_hash import PlanHashOptions
from spark_jobs.options.repair import RepairOptions
from spark_jobs.options.restore import RestoreCheck, RestoreOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.options.savepoint import SavepointMode, SavepointOptions
from spark_jobs.options.service import ClusteringOptions, CompactionOptions, ServiceOptions
from spark_jobs.options.validate import ValidateOptions

__all__ = [
    "AlterTableOptions",
    "ArchiveOptions",
    "BootstrapOptions",
    "CleanOptions",
    "ClusteringOptions",
    "CompactionOptions",
    "CreateTableOptions",
    "EngineKind",
    "HealthOptions",
    "HiveSyncOptions",
    "IndexType",
    "IndexingMode",
    "IndexingOptions",
    "IngestOptions",
    "JobOptions",
    "JobResult",
    "JobState",
    "Operation",
    "OptionsError",
    "PlanHashOptions",
    "Repair",
    "RepairOptions",
    "RestoreCheck",
    "RestoreOptions",
    "RollbackOptions",
    "SavepointMode",
    "SavepointOptions",
    "ServiceMode",
    "ServiceOptions",
    "TableType",
    "ValidateOptions",
]
