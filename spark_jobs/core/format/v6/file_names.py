"""How base and log files are named up to table version 6 (Hudi: FSUtils, HoodieLogFile)."""

from __future__ import annotations

import re
from typing import NamedTuple

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
    """``.<file id>_<instant of its slice>.log.<version>_<write token>[.cdc]``; an old file may lack the token."""

    file_id: str
    instant: str
    version: int
    write_token: str | None
    is_cdc: bool = False

    def __str__(self) -> str:
        token = f"_{self.write_token}" if self.write_token else ""
        return f".{self.file_id}_{self.instant}.log.{self.version}{token}{'.cdc' if self.is_cdc else ''}"

    @property
    def order(self) -> tuple[str, int, str]:
        """The order of log files in a slice."""
        return (self.instant, self.version, self.write_token or "")


def parse_base_file_name(name: str) -> BaseFileName | None:
    match = _BASE.fullmatch(name)
    return BaseFileName(*match.groups()) if match else None


def parse_log_file_name(name: str) -> LogFileName | None:
    match = _USUAL_LOG.fullmatch(name) or _LOG.fullmatch(name)
    if match is None:
        return None
    file_id, instant, version, token, cdc = match.groups()
    return LogFileName(file_id, instant, int(version), token, cdc is not None)
