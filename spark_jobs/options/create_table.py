"""Options of ``create_table.py``: a statement, or what it would say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.base import JobOptions
from spark_jobs.options.flags import Kind, flag
from spark_jobs.options.job import Job
from spark_jobs.options.record_fields import PartitionPathFields, PrecombineField, RecordKeyFields
from spark_jobs.options.table_type import NewTableType


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableOptions(JobOptions):
    """The statement comes from ``ddl`` or ``ddl_file``; without one, the other options say what is made.

    ``base_path`` may be left out where the statement has a LOCATION.
    """

    job: ClassVar[str] = "create_table"
    needs_base_path: ClassVar[bool] = False

    base_path: Annotated[str, flag("--base-path", "--target-base-path", help="Base path of the table.")] = ""
    ddl: Annotated[str | None, flag("--ddl", help="A create table ... using hudi.")] = None
    ddl_file: Annotated[str | None, flag("--ddl-file", help="Path or URL of a file with the statement.")] = None
    if_not_exists: Annotated[
        bool, flag("--if-not-exists", kind=Kind.SWITCH, help="Leave a table that stands there as it is.")
    ] = False
    database: Annotated[
        str | None, flag("--database", keys=("hoodie.database.name",), help="Database of the table.")
    ] = None
    table_type: NewTableType = None
    record_key_fields: RecordKeyFields = ()
    partition_path_fields: PartitionPathFields = ()
    precombine_field: PrecombineField = None
    schema_file: Annotated[
        str | None, flag("--schema-file", help="Path or URL of a file with the table's Avro schema.")
    ] = None


CREATE_TABLE = Job(name="create table", options=CreateTableOptions, runner="spark_jobs.ddl.job:run_create_table")
