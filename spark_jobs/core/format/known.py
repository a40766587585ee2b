"""The versions of the table format that this release knows: other code asks here and never compares version numbers."""

from __future__ import annotations

from spark_jobs.core.errors import UnsupportedTableError
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.format.v6.layout import OLDER, VERSION_6

FORMATS: dict[int, TableFormat] = {known.version: known for known in (*OLDER, VERSION_6)}
"""By version. A version that is added has its own folder beside ``v6``."""

NEW_TABLES: TableFormat = VERSION_6
"""What tables are made of that say nothing of a version."""


def format_of(version: int, table: str) -> TableFormat:
    """What knows the tables of a version.

    :param table: as an error names it.
    :raises UnsupportedTableError: a version above 6.
    """
    found = FORMATS.get(version)
    if found is None:
        raise UnsupportedTableError(
            f"{table} has table version {version}, this release reads versions 0 to 6 and writes version 6",
            todo="downgrade it with Hudi 1.x (`hudi-cli downgrade table --toVersion SIX`)",
            version=version,
            table=table,
        )
    return found
