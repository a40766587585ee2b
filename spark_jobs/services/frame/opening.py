"""The table that a service is for."""

from __future__ import annotations

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.options.base import JobOptions


def open_table(options: JobOptions, lake: Lake, *, lists_storage: bool = True) -> HudiTable:
    """The table at the base path, which has the name that was given, if one was.

    :raises TableNotFoundError: there is no table.
    :raises ConfigError: it has another name: one of both is a mistake, and the service may be for another table.
    """
    table = HudiTable.open(options.base_path, lake=lake, lists_storage=lists_storage)
    asked = options.effective().table_name
    if asked and asked != table.config.name:
        raise ConfigError(
            f"--table-name {asked} contradicts the table at {options.base_path}, which is {table.config.name}",
            todo="leave the option out, or give the base path of the table that is meant",
            table=table.config.name,
        )
    return table
