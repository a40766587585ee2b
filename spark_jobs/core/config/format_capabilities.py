"""What differs between table versions; other code asks here and never compares version numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.errors import UnsupportedTableError


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatCapabilities:
    """How tables of one version are laid out; ``written_by`` names the releases of Hudi that made them."""

    version: int
    written_by: str
    timeline_folder: str
    """Below ``.hoodie``; empty for ``.hoodie`` itself."""
    writable: bool
    trusts_metadata_table: bool
    """Readers take files from the metadata table where ``hoodie.properties`` says that it is whole."""


def _old(version: int, written_by: str) -> FormatCapabilities:
    """What versions 0 to 5 have in common: all that their names and payloads may look like, version 6 reads too."""
    return FormatCapabilities(
        version=version, written_by=written_by, timeline_folder="", writable=False, trusts_metadata_table=False
    )


VERSION_6 = FormatCapabilities(
    version=6, written_by="Hudi 0.14 and 0.15", timeline_folder="", writable=True, trusts_metadata_table=True
)
_KNOWN: Mapping[int, FormatCapabilities] = {
    known.version: known
    for known in (
        _old(0, "Hudi 0.4 and 0.5"),
        _old(1, "Hudi 0.6 to 0.8"),
        _old(2, "Hudi 0.9"),
        _old(3, "Hudi 0.10"),
        _old(4, "Hudi 0.11"),
        _old(5, "Hudi 0.12 and 0.13"),
        VERSION_6,
    )
}


def capabilities_of(version: int, table: str) -> FormatCapabilities:
    """The capabilities of a table version.

    :raises UnsupportedTableError: a version above 6.
    """
    found = _KNOWN.get(version)
    if found is None:
        raise UnsupportedTableError(
            f"{table} has table version {version}, this release reads versions 0 to 6 and writes version 6",
            todo="downgrade it with Hudi 1.x (`hudi-cli downgrade table --toVersion SIX`)",
            version=version,
            table=table,
        )
    return found
