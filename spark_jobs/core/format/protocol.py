"""What a version of the table format is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from spark_jobs.core.format.file_groups import BaseFile, Groups, LogFile, RawBase, RawLog, SliceInstants
from spark_jobs.core.format.file_names import BaseFileName, LogFileName
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.metadata_layout import MetadataLayout


class TableFormat(Protocol):
    """How tables of one version are laid out. A value: it is pickled with the timeline that it names the files of."""

    @property
    def version(self) -> int:
        """``hoodie.table.version``."""

    @property
    def written_by(self) -> str:
        """The releases of Hudi that make such tables."""

    @property
    def timeline_layout(self) -> str:
        """``hoodie.timeline.layout.version``."""

    @property
    def writable(self) -> bool: ...

    @property
    def trusts_metadata_table(self) -> bool:
        """Readers take files from the metadata table where ``hoodie.properties`` says that it is whole."""

    def timeline_folder(self, base_path: str) -> str:
        """Whole path of the folder of the active timeline."""

    @property
    def metadata(self) -> MetadataLayout:
        """The partitions of the metadata table."""

    @property
    def keeps_completion(self) -> bool:
        """The name of the file that completes an instant has the time of its completion: so do instants that are parsed
        from such names, and it can be named by those alone.
        """

    @property
    def archive_form(self) -> str:
        """In which form archived instants are kept: a name of `core/timeline/archive/known.py`."""

    @property
    def payload_form(self) -> str:
        """In which form the files of instants hold what they say: a name of `core/timeline/payloads/known.py`."""

    def archive_folder(self, base_path: str, name: str) -> str:
        """Whole path of the folder of the archived timeline.

        :param name: by ``hoodie.archivelog.folder``: a path that leads nowhere but below where it begins.
        """

    def file_name(self, instant: Instant) -> str:
        """The name, below that folder, of the file that says an instant is in its state; a text for messages where the
        time of completion would be in it and is not known.
        """

    def parse_instant(self, file_name: str) -> Instant | None:
        """The instant that a file of that folder stands for; None for any other file."""

    def is_of(self, file_name: str, time: str) -> bool:
        """Whether a file of that folder is of the instants of a time, also one that was never published whole."""

    def highest_states(self, names: Iterable[tuple[str, int]]) -> list[tuple[Instant, int]]:
        """Of the files of a folder with a number each: every instant in its highest state, in the timeline's order,
        with the number of its file. Quick for tens of thousands.
        """

    def base_file(self, file_id: str, write_token: str, instant: str, extension: str = ".parquet", /) -> BaseFileName:
        """The name of a base file that a write makes."""

    def log_file(self, file_id: str, *, base_instant: str, instant: str, version: int, write_token: str) -> LogFileName:
        """The name of a log file that a write makes.

        :param base_instant: of the slice that it goes to.
        :param instant: of the write.
        """

    def parse_base_file(self, name: str, /) -> BaseFileName | None:
        """None for any other file."""

    def parse_log_file(self, name: str, /) -> LogFileName | None:
        """None for any other file."""

    def sort_into_groups(
        self, files: Iterable[tuple[str, Sequence[str], Sequence[int]]], instants: SliceInstants
    ) -> Groups:
        """The file slices of (partition, file names, their bytes), seen or not. Quick for hundreds of thousands of
        names; those of no data file are passed over.
        """

    def base_of(self, partition: str, file_id: str, instant: str, raw: RawBase) -> BaseFile:
        """A base file of such a slice."""

    def logs_of(self, partition: str, file_id: str, base_instant: str, logs: Sequence[RawLog]) -> tuple[LogFile, ...]:
        """The logs of such a slice, in their order."""

    def last_version(self, logs: Sequence[RawLog]) -> int:
        """The highest version of such logs; there are some."""
