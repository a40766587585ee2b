"""Features of a table that this release does not have, refused before a row is misread or a file harmed."""

from __future__ import annotations

from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import UnsupportedTableError


def _unreadable(config: TableConfig) -> dict[str, bool]:
    """Features whose rows are not all in the base and log files, or not as this release looks for them."""
    values = config.properties
    return {
        f"{table_keys.BASE_FILE_FORMAT.name} other than PARQUET": table_keys.BASE_FILE_FORMAT.of(values)
        is not table_keys.BaseFileFormat.PARQUET,
    }


def refuse_unreadable(config: TableConfig) -> None:
    """
    :raises UnsupportedTableError: the table has a feature that this release does not read.
    """
    _refuse(config, _unreadable(config), "read")


def refuse_unwritable(config: TableConfig) -> None:
    """
    :raises UnsupportedTableError: the table has a feature that this release does not read, or whose neglect by a
        writer would harm its other users.
    """
    refuse_old_version(config)
    only_read = {
        f"{datasource_keys.DROP_PARTITION_COLUMNS.name}=true": datasource_keys.DROP_PARTITION_COLUMNS.of(
            config.properties
        ),
        f"{table_keys.CDC_ENABLED.name}=true": table_keys.CDC_ENABLED.of(config.properties),
    }
    _refuse(config, {**_unreadable(config), **only_read}, "write")


def refuse_old_version(config: TableConfig) -> None:
    """
    :raises UnsupportedTableError: a table of a version that is read, but not written.
    """
    known = config.format
    if not known.writable:
        raise UnsupportedTableError(
            f"table {config.name} has table version {known.version} ({known.written_by}), which this "
            "release reads and does not write",
            todo="upgrade it with Hudi 0.14 or 0.15: any write by it does, or `hudi-cli upgrade table --toVersion SIX`",
            version=known.version,
            table=config.name,
        )


def _refuse(config: TableConfig, features: dict[str, bool], verb: str) -> None:
    for feature, present in features.items():
        if present:
            raise UnsupportedTableError(
                f"table {config.name} has {feature}, which this release does not {verb}",
                todo=f"{verb} it with Hudi",
                table=config.name,
            )
