"""Where things are in a table of version 6."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.metadata_layout import MetadataLayout
from spark_jobs.core.format.v6.file_names import (
    BaseFileName,
    LogFileName,
    parse_base_file_name,
    parse_log_file_name,
)
from spark_jobs.core.format.v6.instant_names import file_name_of, highest_states, parse_instant
from spark_jobs.core.format.v6.metadata import METADATA
from spark_jobs.core.format.v6.slices import base_of, last_version, logs_of, sort_into_groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Version6:
    """Version 6; and versions 0 to 5, which are read: all that their names and payloads may look like, it has too."""

    version: int
    written_by: str
    writable: bool
    trusts_metadata_table: bool
    timeline_layout: str = "1"
    keeps_completion: bool = False
    archive_form: str = "log files"
    payload_form: str = "JSON and Avro"

    @property
    def metadata(self) -> MetadataLayout:
        return METADATA

    def timeline_folder(self, base_path: str) -> str:
        return f"{base_path}/{META_FOLDER}"

    def archive_folder(self, base_path: str, name: str) -> str:
        return f"{base_path}/{META_FOLDER}/{name}" if name else f"{base_path}/{META_FOLDER}"

    def file_name(self, instant: Instant) -> str:
        return file_name_of(instant)

    def parse_instant(self, file_name: str) -> Instant | None:
        return parse_instant(file_name)

    def is_of(self, file_name: str, time: str) -> bool:
        return file_name.startswith(f"{time}.")

    def highest_states(self, names: Iterable[tuple[str, int]]) -> list[tuple[Instant, int]]:
        return highest_states(names)

    # asked of each file of a listing: the functions themselves cost no further frame
    base_file = staticmethod(BaseFileName)
    parse_base_file = staticmethod(parse_base_file_name)
    parse_log_file = staticmethod(parse_log_file_name)
    sort_into_groups = staticmethod(sort_into_groups)
    base_of = staticmethod(base_of)
    logs_of = staticmethod(logs_of)
    last_version = staticmethod(last_version)

    def log_file(self, file_id: str, *, base_instant: str, instant: str, version: int, write_token: str) -> LogFileName:
        """By its slice, whatever write makes it."""
        return LogFileName(file_id, base_instant, version, write_token)


def _old(version: int, written_by: str) -> Version6:
    return Version6(version=version, written_by=written_by, writable=False, trusts_metadata_table=False)


VERSION_6 = Version6(version=6, written_by="Hudi 0.14 and 0.15", writable=True, trusts_metadata_table=True)
OLDER = (
    _old(0, "Hudi 0.4 and 0.5"),
    _old(1, "Hudi 0.6 to 0.8"),
    _old(2, "Hudi 0.9"),
    _old(3, "Hudi 0.10"),
    _old(4, "Hudi 0.11"),
    _old(5, "Hudi 0.12 and 0.13"),
)
