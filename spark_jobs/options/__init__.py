"""Options shared by operators and jobs, and the result that a job hands back; standard library only."""

from spark_jobs.options.base import JobOptions
from spark_jobs.options.choices import Operation, ServiceMode, TableType
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.create_table import CreateTableOptions
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.hive_sync import HiveSyncOptions
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import ClusteringOptions, CompactionOptions, ServiceOptions

__all__ = [
    "CleanOptions",
    "ClusteringOptions",
    "CompactionOptions",
    "CreateTableOptions",
    "HiveSyncOptions",
    "IngestOptions",
    "JobOptions",
    "JobResult",
    "JobState",
    "Operation",
    "OptionsError",
    "ServiceMode",
    "ServiceOptions",
    "TableType",
]
