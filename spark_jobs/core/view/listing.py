"""Where a view's files come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Protocol

from spark_jobs.core.files.partition_metafile import Enter, Unmarked, list_partitions
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


def by_partition(files: Iterable[tuple[str, FileStatus]]) -> Iterator[tuple[str, Sequence[str], Sequence[int]]]:
    """Names and bytes of a listing of (partition, file); a partition whose files don't come together comes again."""
    for partition, some in groupby(files, key=itemgetter(0)):
        found = [status for _, status in some]
        yield partition, [status.name for status in found], [status.size for status in found]
