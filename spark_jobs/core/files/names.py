"""Names of data files, log files and markers, parsed at the edge (Hudi: FSUtils, HoodieLogFile)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

PARTITION_METAFILE = ".hoodie_partition_metadata"
MARKER_FOLDER = ".hoodie/.temp"
UNKNOWN_WRITE_TOKEN = "1-0-1"

_LOG = re.compile(r"\.(.+)_(.*)\.log\.(\d+)(?:_(\d+-\d+-\d+)(\.cdc)?)?")
_BASE = re.compile(r"([^_]+)_(\d+(?:-\d+-\d+)?)_(\d+)(\.\w+)")


@dataclass(frozen=True, slots=True)
class BaseFileName:
    """``<file id>_<write token>_<instant><extension>``; the token of Hudi 0.4 is one number, that of the task."""

    file_id: str
    write_token: str
    instant: str
    extension: str = ".parquet"

    def __str__(self) -> str:
        return f"{self.file_id}_{self.write_token}_{self.instant}{self.extension}"


@dataclass(frozen=True, slots=True)
class LogFileName:
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
    return BaseFileName(match[1], match[2], match[3], match[4]) if match else None


def parse_log_file_name(name: str) -> LogFileName | None:
    match = _LOG.fullmatch(name)
    return LogFileName(match[1], match[2], int(match[3]), match[4], match[5] is not None) if match else None


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
    def relative_path(self) -> str:
        return join(self.partition, f"{self.file_name}.marker.{self.kind.value}")

    @property
    def data_path(self) -> str:
        """The data file, relative to the table's base path."""
        return join(self.partition, self.file_name)


def parse_marker(relative_path: str) -> Marker | None:
    """A marker from its path below the instant's marker folder, or from a line of a ``MARKERS`` file."""
    stem, separator, kind = relative_path.rpartition(".marker.")
    if not separator or kind not in MarkerType.__members__:
        return None
    partition, _, name = stem.rpartition("/")
    return Marker(partition, name, MarkerType[kind])


def join(partition: str, name: str) -> str:
    """A path below the base path; a table without partitions has the partition ``""``."""
    return f"{partition}/{name}" if partition else name
