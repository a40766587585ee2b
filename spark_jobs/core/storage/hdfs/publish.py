"""Files that are published whole: written below a temporary name, then renamed, which the NameNode does in one step.

HDFS numbers its files, but the client does not tell the numbers. So a file that is published here gets a size of
blocks by chance, below which its content stays: with its time and length that tells its versions apart.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from hdfs_native import Client, FileStatus, WriteOptions

from spark_jobs.core.errors import AlreadyExistsError
from spark_jobs.core.storage.hdfs.failure import FAILURES, is_folder_in_the_way

TEMPORARY_SUFFIX: Final = ".tmp"
"""As on local disks: the timeline does not know the extension, and rollbacks sweep such files."""
_CHUNK: Final = 512
"""A size of blocks is a multiple of that (``dfs.bytes-per-checksum``)."""
_LEAST_CHUNKS: Final = 1 << 16
_SIZES: Final = 1 << 18
"""From 32 MiB to 160 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """What is to be published: ``name`` is random, ``permission`` of the file, ``folders`` of new folders around it."""

    data: bytes
    name: UUID
    permission: int
    folders: int
    synced: bool

    @property
    def block_size(self) -> int:
        return (_LEAST_CHUNKS + self.name.int % _SIZES) * _CHUNK

    def temporary(self, folder: str, name: str) -> str:
        return f"{folder}/{name}.{self.name}{TEMPORARY_SUFFIX}"

    def is_at(self, client: Client, file: str) -> bool:
        """Whether it stands there: a call may have been carried out and its answer lost."""
        found = info(client, file)
        return found is not None and (found.length, found.blocksize) == (len(self.data), self.block_size)

    def write(self, client: Client, file: str, *, in_new_folders: bool) -> None:
        """
        :raises FileExistsError: there is one, or a folder.
        :raises FileNotFoundError: there is no such folder, and it may not be made.
        """
        options = WriteOptions(
            block_size=self.block_size, permission=self.permission, overwrite=False, create_parent=in_new_folders
        )
        try:
            writer = client.create(file, options)
        except FileExistsError:
            if self.data or not self.is_at(client, file):
                raise
            return
        if self.data:
            writer.write(self.data)
            if self.synced:
                writer.hsync()
        writer.close()

    def publish(self, client: Client, temporary: str, file: str, *, over: bool) -> None:
        """Rename what was written to its name; the temporary file is gone afterwards.

        :param over: whatever is there gives way, but for a folder.
        :raises AlreadyExistsError: something is there.
        :raises FileNotFoundError: the temporary file is gone, or the folder of the name.
        """
        try:
            client.rename(temporary, file, over)
        except FileNotFoundError:
            if not self.is_at(client, file):
                raise
        except FAILURES as error:
            is_refused = isinstance(error, FileExistsError) or (is_folder_in_the_way(error) and not over)
            if not is_refused and self._was_renamed(client, file):
                return
            drop(client, temporary)
            if is_refused:
                raise AlreadyExistsError(f"{file} exists already", path=file) from None
            raise

    def _was_renamed(self, client: Client, file: str) -> bool:
        """Whether a call did its work that ended without an answer, as far as there is one now."""
        try:
            return self.is_at(client, file)
        except FAILURES:
            return False


def info(client: Client, file: str) -> FileStatus | None:
    """None where nothing is."""
    try:
        return client.get_file_info(file)
    except FileNotFoundError:
        return None


def version(status: FileStatus) -> str:
    """Of a file: milliseconds, bytes, and the size of its blocks."""
    return f"{status.modification_time}-{status.length}-{status.blocksize}"


def drop(client: Client, path: str) -> None:
    """Remove what is of no use any more, with all that is below it; what stays there is swept later."""
    with suppress(*FAILURES):
        client.delete(path, True)
