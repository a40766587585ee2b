"""Where a view's files come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Protocol

from spark_jobs.core.files.partition_metafile import METAFILES, Enter, Unmarked, ancestors, list_partitions, outermost
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.storage import FileStatus, RelativePath, Storage, resolve


class Listing(Protocol):
    """The partitions of a table and the files in them; what they mean is the view's to say."""

    def partitions(self, enter: Enter = list) -> list[RelativePath]:
        """Relative paths, sorted; ``[""]`` for a table without partition columns that has data.

        :param enter: folders that it does not give need not be looked into; all are by default.
        """
        ...

    def files(self, partitions: Iterable[str]) -> Iterator[tuple[str, FileStatus]]:
        """(partition, file) of some partitions, partition by partition; one that does not exist has no files."""
        ...

    def names(self, partitions: Iterable[str]) -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
        """The same by partition, as file names and their bytes, which is all that a view asks."""
        ...


@dataclass(frozen=True, slots=True)
class StorageListing:
    """Directories as the storage lists them: all that is there, of unfinished writes too.

    :param unmarked: called for folders that are no partitions and have files.
    """

    storage: Storage
    base_path: str
    unmarked: Unmarked | None = field(default=None, compare=False)

    def partitions(self, enter: Enter = list) -> list[RelativePath]:
        return list_partitions(self.storage, self.base_path, enter, self.unmarked)

    def files(self, partitions: Iterable[str]) -> Iterator[tuple[str, FileStatus]]:
        for partition in partitions:
            for status in self.storage.list(resolve(self.base_path, RelativePath(partition))):
                if not status.is_directory:
                    yield partition, status

    def names(self, partitions: Iterable[str]) -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
        return by_partition(self.files(partitions))

    def all_names(self) -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
        """:meth:`names` of all partitions, as :meth:`all_files`."""
        for partition, files in self.all_files():
            yield partition, [status.name for status in files], [status.size for status in files]

    def all_files(self) -> Iterator[tuple[str, Sequence[FileStatus]]]:
        """The files of each partition; by one listing where the storage gives all of the table by that."""
        if not self.storage.capabilities.ordered:
            for partition in self.partitions():
                yield partition, [status for _, status in self.files([partition])]
            return
        folders = self._files_by_folder()
        partitions = outermost(folder for folder, files in folders.items() if not files.keys().isdisjoint(METAFILES))
        for folder in sorted(folders):
            files = folders[folder]
            if folder in partitions:
                yield folder, list(files.values())
            elif self.unmarked is not None and not any(one in partitions for one in ancestors(folder)):
                self.unmarked(RelativePath(folder), list(files))

    def _files_by_folder(self) -> dict[str, dict[str, FileStatus]]:
        """By name, all files but the table's own, by the relative path of their folder."""
        found: dict[str, dict[str, FileStatus]] = {}
        start, own = len(self.base_path) + 1, f"{META_FOLDER}/"
        for status in self.storage.walk(self.base_path):
            path = status.path[start:]
            if not path.startswith(own):
                folder, _, name = path.rpartition("/")
                found.setdefault(folder, {})[name] = status
        for folder in found.keys() - {""}:
            around, _, name = folder.rpartition("/")
            marker = found.get(around, {}).get(name)
            if marker is not None and not marker.size:  # an empty object that stands for the folder
                del found[around][name]
        return {RelativePath(folder): files for folder, files in found.items() if files}


def by_partition(files: Iterable[tuple[str, FileStatus]]) -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
    """Names and bytes of a listing of (partition, file); a partition whose files don't come together comes again."""
    for partition, some in groupby(files, key=itemgetter(0)):
        found = [status for _, status in some]
        yield partition, [status.name for status in found], [status.size for status in found]
