"""Names of what stands beside data files: markers and partition metafiles, parsed at the edge (Hudi: WriteMarkers)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.core.storage import RelativePath, join

PARTITION_METAFILE = ".hoodie_partition_metadata"


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
