"""HDFS as a storage: what is renamed to its name whole, and under a lock by a folder that its next holder removes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

import pyarrow as pa
from hdfs_native import Client, WriteOptions
from hdfs_native import FileStatus as Found

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.errors import AlreadyExistsError, EtagMismatchError, StorageError, WriteConflictError
from spark_jobs.core.storage.hdfs.clients import Settings, client_of, permissions_of, split
from spark_jobs.core.storage.hdfs.failure import FAILURES, is_denied, is_not_empty, one_line
from spark_jobs.core.storage.hdfs.guard import GUARD_SUFFIX, Passage, guard_of_this_thread, on_the_way, way
from spark_jobs.core.storage.hdfs.names import SCHEME
from spark_jobs.core.storage.hdfs.publish import TEMPORARY_SUFFIX, NewFile, drop, info, version
from spark_jobs.core.storage.hdfs.streams import Output, RangedFile, read_range
from spark_jobs.core.storage.hdfs.swap import Swap
from spark_jobs.core.storage.protocol import SMALL_FILE, Capabilities, Content, FileStatus

_TRIES: Final = 5
_LOCK_BYTES: Final = 1 << 16
"""More than a lock file of this project has."""


@dataclass(frozen=True, slots=True)
class HdfsStorage:
    """Paths are whole URLs, ``hdfs://namenode:port/path``, of which nothing is decoded; without an authority they are
    of the default file system. Pickles by value.

    :param settings: by Hadoop's names, over those of the files in ``HADOOP_CONF_DIR``.
    :param clock: pauses between tries, and random names.
    :param durable: whether files are forced to the disks of the DataNodes.
    """

    settings: Settings = field(default=(), repr=False)
    clock: Clock = SYSTEM_CLOCK
    durable: bool = True

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(shared=True, guarded=True, linked=False)

    def relaxed(self) -> HdfsStorage:
        return replace(self, durable=False)

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        authority, client, file = self._at(path)
        new, passage = self._new(data, durable=durable), way(authority)
        with one_line(path, "written"):
            if data or passage is not None:
                self._publish(client, passage, new, file, over=False)
                return
            try:  # nothing to tear: markers and empty states need no temporary file
                new.write(client, file, in_new_folders=True)
            except FileExistsError:
                raise AlreadyExistsError(f"{path} exists already", path=path) from None

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        authority, client, file = self._at(path)
        with one_line(path, "written"):
            self._publish(client, way(authority), self._new(data, durable=durable), file, over=True)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        if not self._swap(path, etag, self._new(data), "written"):
            raise EtagMismatchError(f"{path} is not the version that was read", path=path, etag=etag)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        _, client, file = self._at(path)
        with one_line(path, "read"):
            return read_range(client, file, offset, length, self.clock)

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        """Again where it was replaced while it was read."""
        authority, client, file = self._at(path)
        with one_line(path, "read"):
            for _ in range(_TRIES):
                found = info(client, file)
                if found is None or found.isdir:
                    return None
                try:
                    data = read_range(client, file, 0, most, self.clock)
                except FileNotFoundError:
                    continue
                now = info(client, file)
                if now is not None and version(now) == version(found):
                    return Content(data, _status(authority, found))
        raise StorageError(f"{path} can't be read (it is replaced again and again)", todo="run it again", path=path)

    def read_listed(self, path: str, etag: str) -> bytes:
        del etag  # nothing is kept
        return self.read(path)

    def list(self, path: str) -> list[FileStatus]:
        authority, client, folder = self._at(path)
        with one_line(path, "listed"):
            try:
                found = [one for one in client.list_status(folder) if one.path != folder]  # a file lists itself
            except FileNotFoundError:
                return []
        return sorted((_status(authority, one) for one in found), key=lambda one: one.path)

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        for status in self.list(path):
            if status.is_directory:
                yield from self.walk(status.path, after)
            elif status.path > after:
                yield status

    def stat(self, path: str) -> FileStatus | None:
        authority, client, file = self._at(path)
        with one_line(path, "read"):
            found = info(client, file)
        return None if found is None else _status(authority, found)

    def has_folder(self, path: str) -> bool:
        status = self.stat(path)
        return status is not None and status.is_directory

    def is_unpublished(self, name: str) -> bool:
        return name.endswith(TEMPORARY_SUFFIX)

    def guard_of(self, lock: str) -> str:
        return lock + GUARD_SUFFIX

    def first_link(self, path: str, below: str) -> None:
        del path, below

    def delete(self, path: str) -> bool:
        authority, client, file = self._at(path)
        passage = way(authority)
        with one_line(path, "deleted"):
            if passage is None:
                return client.delete(file)
            found = info(client, file)
            if found is not None and found.isdir:
                raise StorageError(f"{path} can't be deleted (it is a folder)", path=path)
            return found is not None and self._take_away(client, passage, file)

    def delete_files(self, paths: Sequence[str]) -> Sequence[bool]:
        return [self.delete(path) for path in paths]

    def discard(self, paths: Sequence[str]) -> None:
        self.delete_files(paths)

    def delete_if(self, path: str, etag: str) -> bool:
        return self._swap(path, etag, None, "deleted")

    def delete_tree(self, path: str) -> None:
        authority, client, file = self._at(path)
        passage = way(authority)
        with one_line(path, "deleted"):
            if passage is None or f"{passage.guard}/".startswith(f"{file}/"):  # with the lock itself
                client.delete(file, True)
            else:
                self._take_away(client, passage, file)

    def remove_empty_directory(self, path: str) -> bool:
        """Under a lock too by itself alone: a folder that is missing is made again with the next file in it."""
        _, client, folder = self._at(path)
        with one_line(path, "deleted"):
            try:
                client.delete(folder)
            except RuntimeError as error:
                if is_not_empty(error):
                    return False
                raise
            return True

    def make_directory(self, path: str) -> None:
        _, client, folder = self._at(path)
        with one_line(path, "made"):
            client.mkdirs(folder, self._permissions()[1], True)

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        del may_change, etag  # a version that is replaced meanwhile can't be read to its end
        _, client, file = self._at(path)
        return pa.PythonFile(RangedFile(client, file, path, self.clock), mode="r")

    def open_output(self, path: str) -> pa.NativeFile:
        authority, client, file = self._at(path)
        passage = way(authority)
        with one_line(path, "written"):
            if passage is None:
                options = WriteOptions(permission=self._permissions()[0], overwrite=False, create_parent=True)
                try:
                    writer = client.create(file, options)
                except FileExistsError:
                    raise AlreadyExistsError(f"{path} exists already", path=path) from None
            else:
                self._publish(client, passage, self._new(b""), file, over=False)
                writer = client.append(file)
        return pa.PythonFile(Output(writer, path, synced=self.durable), mode="w")

    def sync(self, paths: Sequence[str], names: Sequence[str] = ()) -> None:
        """Files are forced to the disks when they are closed, and the NameNode answers when it has logged a name."""
        del paths, names

    @contextmanager
    def only_while(self, lock: str, token: str) -> Iterator[None]:
        passage = self._passage(lock, token)
        with on_the_way(passage):
            with one_line(lock, "written"):
                passage.enter()
            yield

    @contextmanager
    def while_alone(self, lock: str, name: str, *, wait_ms: int = 0) -> Iterator[None]:
        """Nobody is waited for: what was under way by the lock file of before is refused from the end of the block
        on.
        """
        del name, wait_ms
        passage = self._passage(lock, None)
        with on_the_way(passage):
            yield
        with one_line(lock, "written"):
            passage.client.delete(passage.guard, True)

    def clock_ms(self, folder: str) -> int | None:
        authority, client, path = self._at(folder)
        del authority
        file = f"{path}/clock.{self.clock.new_uuid()}{TEMPORARY_SUFFIX}"
        with one_line(folder, "written"):
            try:
                client.create(file, WriteOptions(overwrite=False, create_parent=False)).close()
                found = client.get_file_info(file)
                client.delete(file)
            except FAILURES as error:
                if isinstance(error, FileNotFoundError) or is_denied(error):
                    return None
                raise
        return found.modification_time

    def _at(self, path: str) -> tuple[str, Client, str]:
        authority, file = split(path)
        return authority, client_of(authority, self.settings), file

    def _permissions(self) -> tuple[int, int]:
        return permissions_of(self.settings)

    def _new(self, data: bytes, *, durable: bool = True) -> NewFile:
        files, folders = self._permissions()
        name = UUID(self.clock.new_uuid())
        return NewFile(data=data, name=name, permission=files, folders=folders, synced=durable and self.durable)

    def _passage(self, lock: str, token: str | None) -> Passage:
        authority, client, file = self._at(lock)
        return Passage(
            client=client,
            authority=authority,
            guard=file + GUARD_SUFFIX,
            look=None if token is None else lambda: _refuse_other_holder(client, file, lock, token, self.clock),
            clock=self.clock,
            folders=self._permissions()[1],
        )

    def _publish(self, client: Client, passage: Passage | None, new: NewFile, file: str, *, over: bool) -> None:
        folder, _, name = file.rpartition("/")
        if passage is None:
            temporary = new.temporary(folder, name)
            new.write(client, temporary, in_new_folders=True)
            new.publish(client, temporary, file, over=over)
            return

        def through(entry: str) -> None:
            temporary = new.temporary(entry, name)
            new.write(client, temporary, in_new_folders=False)
            try:
                new.publish(client, temporary, file, over=over)
            except FileNotFoundError:
                if info(client, temporary) is None:
                    raise
                client.mkdirs(folder, new.folders, True)
                new.publish(client, temporary, file, over=over)

        passage.change(through)

    def _take_away(self, client: Client, passage: Passage, file: str) -> bool:
        """Delete a file, or a folder with all that is below, under a lock; False where there is none."""
        name = self.clock.new_uuid()

        def through(entry: str) -> None:
            try:
                client.rename(file, f"{entry}/{name}")
            except FileNotFoundError:
                if info(client, f"{entry}/{name}") is None:  # else it was moved, and the answer lost
                    raise
            drop(client, f"{entry}/{name}")

        try:
            passage.change(through)
        except FileNotFoundError:
            return False
        return True

    def _swap(self, path: str, etag: str, new: NewFile | None, verb: str) -> bool:
        authority, client, file = self._at(path)
        swap = Swap(
            client=client,
            clock=self.clock,
            folder=guard_of_this_thread(authority) or file.rpartition("/")[0],
            file=file,
            etag=etag,
            new=new,
            folders=self._permissions()[1],
        )
        with one_line(path, verb):
            return swap.run()


def _refuse_other_holder(client: Client, file: str, lock: str, token: str, clock: Clock) -> None:
    """
    :raises WriteConflictError: the lock file has not this token, or is gone.
    """
    try:
        content = read_range(client, file, 0, _LOCK_BYTES, clock)
    except FileNotFoundError:
        content = None
    if content is None or token.encode() not in content:
        raise WriteConflictError(
            f"the table lock {lock} was lost: "
            + ("its file was removed" if content is None else "another process took it over"),
            todo="run it again; what the lock was held for was not done to its end",
            path=lock,
        )


def _status(authority: str, found: Found) -> FileStatus:
    return FileStatus(
        path=f"{SCHEME}://{authority}{found.path}",
        size=found.length,
        modified_ms=found.modification_time,
        is_directory=found.isdir,
        etag=version(found),
    )
