"""What the name of a data file says, whatever a table version's grammar (Hudi: FSUtils, HoodieLogFile).

A :class:`~spark_jobs.core.format.protocol.TableFormat` makes and parses them; ``str()`` is the name on storage.
"""

from __future__ import annotations

from typing import Protocol

UNKNOWN_WRITE_TOKEN = "1-0-1"


class BaseFileName(Protocol):
    """``instant`` is the time of the write that made the file."""

    @property
    def file_id(self) -> str: ...

    @property
    def write_token(self) -> str: ...

    @property
    def instant(self) -> str: ...

    @property
    def extension(self) -> str: ...


class LogFileName(Protocol):
    """``instant`` is the time in its name: that of the slice it lies on, or, where logs are named by their own commit,
    of the write that made it. An old file may lack the write token.
    """

    @property
    def file_id(self) -> str: ...

    @property
    def instant(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def write_token(self) -> str | None: ...

    @property
    def is_cdc(self) -> bool:
        """Whether it has change data, and no rows of a slice."""

    @property
    def order(self) -> tuple[str, int, str]:
        """The order of log files in a slice."""
