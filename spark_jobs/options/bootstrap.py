"""Options of ``bootstrap.py``: a table over Parquet files that are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.choices import EngineKind
from spark_jobs.options.flags import flag
from spark_jobs.options.job import Job
from spark_jobs.options.plan_hash import PlanHashOptions
from spark_jobs.options.record_fields import PartitionPathFields, PrecombineField, RecordKeyFields
from spark_jobs.options.running import EngineChoice
from spark_jobs.options.table_type import NewTableType


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapOptions(PlanHashOptions):
    """Make a table of a folder of Parquet files, whose rows stay there or are copied, partition by partition.

    The modes stand in ``hoodie.bootstrap.*`` properties.
    """

    job: ClassVar[str] = "bootstrap"

    source: Annotated[
        str | None,
        flag("--source", keys=("hoodie.bootstrap.base.path",), help="Folder of the Parquet files."),
    ] = None
    table_type: NewTableType = None
    record_key_fields: RecordKeyFields = ()
    partition_path_fields: PartitionPathFields = ()
    precombine_field: PrecombineField = None
    engine: EngineChoice = EngineKind.AUTO


BOOTSTRAP = Job(
    name="bootstrap",
    options=BootstrapOptions,
    runner="spark_jobs.services.bootstrap.job:run_bootstrap",
    operator="HudiBootstrapOperator",
)
