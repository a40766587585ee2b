"""Names of data files, log files and markers, parsed at the edge (Hudi: FSUtils, HoodieLogFile)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.core.storage import RelativePath, join

PARTITION_METAFILE = ".hoodie_partition_metadata"
MARKER_FOLDER = ".hoodie/.temp"
UNKNOWN_WRITE_TOKEN = "1-0-1"

_LOG = re.compile(r"\.(.+)_(.*)\.log\.(\d+)(?:_(\d+-\d+-\d+)(\.cdc)?)?")
_USUAL_LOG = re.compile(r"\.([^_]+)_([^_.]*)\.log\.(\d+)(?:_(\d+-\d+-\d+)(\.cdc)?)?")
"""The same for names with no more underscores than Hudi puts there: it never has to look back."""
_BASE = re.compile(r"([^_]+)_(\d+(?:-\d+-\d+)?)_(\d+)(\.\w+)")


class BaseFileName(NamedTuple):
    """``<file id>_<write token>_<instant><extension>``; the token of Hudi 0.4 is one number, that of the task.

    A named tuple, as are the other values that a view makes for each of its files: a third of the time of a dataclass.
    """

    file_id: str
    write_token: str
    instant: str
    extension: str = ".parquet"

    def __str__(self) -> str:
        return f"{self.file_id}_{self.write_token}_{self.instant}{self.extension}"


class LogFileName(NamedTuple):
    """``.<file id>_<base instant>.log.<version>_<write token>[.cdc]``; an old file may lack the token."""

    file_id: str
    base_instant: str
    version: int
    write_token: str | None
    is_cdc: bool = False

    def __str__(self) -> str:
        token = f"_{self.write_token}" if self.write_token else ""
        return f".{self.file_id}_{self.base_instant}.log.{self.version}{token}{'.cdc' if self.is_cdc else ''}"

    @property
    def order(self) -> tuple[str, int, str]:
        """The order of log files in a slice."""
        return (self.base_instant, self.version, self.write_token or "")


def parse_base_file_name(name: str) -> BaseFileName | None:
    match = _BASE.fullmatch(name)
    return BaseFileName(*match.groups()) if match else None


def parse_log_file_name(name: str) -> LogFileName | None:
    match = _USUAL_LOG.fullmatch(name) or _LOG.fullmatch(name)
    if match is None:
        return None
    file_id, base_instant, version, token, cdc = match.groups()
    return LogFileName(file_id, base_instant, int(version), token, cdc is not None)


class MarkerType(StrEnum):
    CREATE = "CREATE"
    MERGE = "MERGE"
    APPEND = "APPEND"


@dataclass(frozen=True, slots=True)
class Marker:
    """What stands on storage before the data file that it names: ``<partition>/<data file>.marker.<type>``."""

    partition: str
    file_name: str
    kind: MarkerType

    @property
    def relative_path(self) -> RelativePath:
        return join(self.partition, f"{self.file_name}.marker.{self.kind.value}")

    @property
    def data_path(self) -> RelativePath:
        """The data file, relative to the table's base path."""
        return join(self.partition, self.file_name)


def parse_marker(relative_path: str) -> Marker | None:
    """A marker from its path below the instant's marker folder, or from a line of a ``MARKERS`` file."""
    stem, separator, kind = relative_path.rpartition(".marker.")
    if not separator or kind not in MarkerType.__members__:
        return None
    partition, _, name = stem.rpartition("/")
    return Marker(partition, name, MarkerType[kind])
