"""The files that the rows of bootstrapped base files are in: a rewrite reads them too, while Hudi's plans count the
skeletons alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT, SourceFile
from spark_jobs.core.view.file_slice import FileSlice


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """By the relative path of the skeleton; none of a table that was not bootstrapped."""

    by_skeleton: Mapping[str, SourceFile] = field(default_factory=dict)

    def of(self, one: FileSlice) -> SourceFile | None:
        return self.by_skeleton.get(one.base_file.relative_path) if self.by_skeleton and one.base_file else None

    def count(self, slices: Iterable[FileSlice]) -> int:
        return sum(self.of(one) is not None for one in slices)

    def bytes(self, slices: Iterable[FileSlice]) -> int:
        return sum(source.size for source in map(self.of, slices) if source is not None)

    def files(self, one: FileSlice) -> list[dict[str, Any]]:
        """All that is read of a slice, for a person: paths of the table and, by ``source``, of its bootstrap."""
        found: list[dict[str, Any]] = [{"path": path, "bytes": size} for path, size in one.sizes]
        source = self.of(one)
        return [*found, {"source": source.path, "bytes": source.size}] if source is not None else found


NO_SOURCES = SourceFiles()


def line_of(file: Mapping[str, Any]) -> str:
    """One of :meth:`SourceFiles.files` as a line of a plan."""
    name = file["path"] if "path" in file else f"{file['source']} of the bootstrap's source"
    return f"  {name} ({file['bytes']} bytes)"


def source_files(table: HudiTable, slices: Iterable[FileSlice]) -> SourceFiles:
    """Of these slices: the bootstrap index is read once for each partition that has skeletons."""
    skeletons = [
        one.base_file for one in slices if one.base_file is not None and one.base_file.name.instant == BOOTSTRAP_INSTANT
    ]
    reader = table.bootstrap_reader() if skeletons else None
    if reader is None:
        return NO_SOURCES
    sources = {partition: reader.index.sources(partition) for partition in sorted({one.partition for one in skeletons})}
    found = {one.relative_path: sources[one.partition].get(one.name.file_id) for one in skeletons}
    return SourceFiles({path: source for path, source in found.items() if source is not None})
