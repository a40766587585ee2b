"""Names of data files: a log has the time of its own write in its name, and nothing of a slice."""

from __future__ import annotations

from typing import NamedTuple


class BaseFileName66(NamedTuple):
    """``data@<instant>@<file id>@<write token>.<extension>``."""

    file_id: str
    write_token: str
    instant: str
    extension: str = ".parquet"

    def __str__(self) -> str:
        return f"data@{self.instant}@{self.file_id}@{self.write_token}{self.extension}"


class LogFileName66(NamedTuple):
    """``changes@<instant of its write>@<file id>@<version>@<write token>``."""

    file_id: str
    instant: str
    version: int
    write_token: str | None
    is_cdc: bool = False

    def __str__(self) -> str:
        return f"changes@{self.instant}@{self.file_id}@{self.version}@{self.write_token}"

    @property
    def order(self) -> tuple[str, int, str]:
        return (self.instant, self.version, self.write_token or "")


def parse_base_file(name: str) -> BaseFileName66 | None:
    kind, *parts = name.split("@")
    if kind != "data" or len(parts) != 3:
        return None
    token, dot, extension = parts[2].partition(".")
    return BaseFileName66(parts[1], token, parts[0], dot + extension)


def parse_log_file(name: str) -> LogFileName66 | None:
    kind, *parts = name.split("@")
    if kind != "changes" or len(parts) != 4:
        return None
    return LogFileName66(parts[1], parts[0], int(parts[2]), parts[3])
