"""What a version of the table format is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from spark_jobs.core.format.instant import Instant


class TableFormat(Protocol):
    """How tables of one version are laid out. A value: it is pickled with the timeline that it names the files of."""

    @property
    def version(self) -> int:
        """``hoodie.table.version``."""

    @property
    def written_by(self) -> str:
        """The releases of Hudi that make such tables."""

    @property
    def writable(self) -> bool: ...

    @property
    def trusts_metadata_table(self) -> bool:
        """Readers take files from the metadata table where ``hoodie.properties`` says that it is whole."""

    def timeline_folder(self, base_path: str) -> str:
        """Whole path of the folder of the active timeline."""

    def file_name(self, instant: Instant) -> str:
        """The name, below that folder, of the file that says an instant is in its state."""

    def parse_instant(self, file_name: str) -> Instant | None:
        """The instant that a file of that folder stands for; None for any other file."""

    def highest_states(self, names: Iterable[tuple[str, int]]) -> list[tuple[Instant, int]]:
        """Of the files of a folder with a number each: every instant in its highest state, in the timeline's order,
        with the number of its file. Quick for tens of thousands.
        """
