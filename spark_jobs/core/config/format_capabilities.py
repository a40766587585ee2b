"""What differs between table versions; other code asks here and never compares version numbers."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.errors import UnsupportedTableError


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatCapabilities:
    """How tables of one version are laid out."""

    version: int
    layout_version: int
    timeline_folder: str
    """Below ``.hoodie``; empty for ``.hoodie`` itself."""
    writable: bool


VERSION_6 = FormatCapabilities(version=6, layout_version=1, timeline_folder="", writable=True)


def capabilities_of(version: int, table: str) -> FormatCapabilities:
    """The capabilities of a table version.

    :raises UnsupportedTableError: any version but 6.
    """
    if version == VERSION_6.version:
        return VERSION_6
    if version < VERSION_6.version:
        advice = "upgrade it with Hudi 0.14 or 0.15 (any write by it does, or `hudi-cli upgrade table`)"
    else:
        advice = "downgrade it with Hudi 1.x (`hudi-cli downgrade table --toVersion SIX`)"
    raise UnsupportedTableError(
        f"{table} has table version {version}, this release reads and writes version 6",
        todo=advice,
        version=version,
        table=table,
    )
