"""Every folder of a table as the storage has it: also those that no reader looks into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spark_jobs.core.files.partition_metafile import METAFILES
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.storage import FileStatus, RelativePath, Storage, join, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """``path`` is relative to the base path; ``inside`` is the partition around it, None where there is none."""

    path: RelativePath
    files: tuple[FileStatus, ...]
    inside: str | None

    @property
    def has_metafile(self) -> bool:
        return any(status.name in METAFILES for status in self.files)


def survey_folders(storage: Storage, base_path: str) -> Iterator[Folder]:
    """All folders but ``.hoodie``, each listed once, those of partitions and what lies in and around them."""
    waiting: list[tuple[RelativePath, RelativePath | None]] = [(RelativePath(""), None)]
    while waiting:
        relative, inside = waiting.pop()
        entries = storage.list(resolve(base_path, relative))
        files = tuple(one for one in entries if not one.is_directory)
        folder = Folder(path=relative, files=files, inside=inside)
        yield folder
        around = relative if folder.has_metafile and inside is None else inside
        waiting += [
            (join(relative, one.name), around) for one in entries if one.is_directory and one.name != META_FOLDER
        ]
