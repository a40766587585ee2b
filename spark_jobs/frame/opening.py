"""The table that a service is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from spark_jobs.engine.context import JobContext
from spark_jobs.options.base import JobOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A table that a job may change: ``properties`` are all ``hoodie.*`` values of the job, and ``settings`` say how it
    changes the table by them.
    """

    table: HudiTable
    properties: Mapping[str, str]
    settings: TransactionSettings


def open_to_change(options: JobOptions, context: JobContext) -> Opened:
    """The table at the base path, after a warning for each key that does not do what its name says.

    :raises TableNotFoundError: there is no table.
    :raises ConfigError: it has another name than the one that was given, or a value of a key is not valid.
    :raises UnsupportedTableError: a table that this release does not write.
    """
    properties = options.effective().hoodie_properties()
    context.progress.warn(*writer_warnings(properties))
    table = open_table(options, context.lake)
    refuse_unwritable(table.config)
    return Opened(table=table, properties=properties, settings=table.transaction_settings(properties))


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
