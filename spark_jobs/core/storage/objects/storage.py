"""A store of objects as a storage: what is put whole, only if absent, or only over a version that was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

import obstore
import pyarrow as pa
from obstore import exceptions
from obstore.store import ObjectStore

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock, drawn
from spark_jobs.core.errors import AccessDeniedError, AlreadyExistsError, EtagMismatchError, WriteConflictError
from spark_jobs.core.storage.objects.again import again, pages
from spark_jobs.core.storage.objects.differences import etag_of, mode_over, remove_folders
from spark_jobs.core.storage.objects.failure import MISSING, one_line
from spark_jobs.core.storage.objects.kept import KEPT
from spark_jobs.core.storage.objects.put_id import PUT_ID, put_id_of
from spark_jobs.core.storage.objects.seen_time import SEEN
from spark_jobs.core.storage.objects.stores import CHANGE_SECONDS, READ_SECONDS, Settings, split, store_of
from spark_jobs.core.storage.objects.streams import RangedFile, Upload
from spark_jobs.core.storage.objects.there import is_there, those_there
from spark_jobs.core.storage.protocol import SMALL_FILE, Capabilities, Content, FileStatus

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta, PutMode

_TRIES: Final = 3
"""Of a conditional put without an answer, which obstore does not try again by itself; each waits for its time-outs."""
_MOST_DELETED: Final = 1000
_FOLDER_SUFFIX: Final = "_$folder$"
"""Hadoop's earlier connectors left such objects for folders."""
_CLOCK_NAME: Final = ".pyhudi-clock-"


@dataclass(frozen=True, slots=True)
class ObjectStorage:
    """Paths are whole URLs, ``s3://bucket/key``, of which nothing is decoded. Pickles by value.

    ``FileStatus.etag`` has no quotes, and is the same from a listing and from a look at the object.

    :param settings: of the clients, as users call them; what is missing comes from the environment and the identity of
        the machine.
    :param clock: pauses between tries, and the names of puts.
    """

    settings: Settings = field(default=(), repr=False)
    clock: Clock = SYSTEM_CLOCK

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            shared=True,
            guarded=False,
            linked=False,
            ordered=True,
            put_when_closed=True,
            deletes_at_once=_MOST_DELETED,
        )

    def relaxed(self) -> ObjectStorage:
        return self

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        del durable  # what is put stays
        if not self._put(path, data, "create"):
            raise AlreadyExistsError(f"{path} exists already", path=path)

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        del durable
        store, key = self._at(path, changes=True)
        with one_line(path, "written"):
            obstore.put(store, key, data, mode="overwrite", use_multipart=False)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        store, key = self._at(path, changes=True)
        with one_line(path, "written"):
            mode = mode_over(store, key, etag.strip('"'))
        if mode is None or not self._put(path, data, mode):
            raise EtagMismatchError(f"{path} is not the version that was read", path=path, etag=etag)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        if length == 0:
            return b""
        store, key = self._at(path)
        with one_line(path, "read"):
            try:
                if length is not None:
                    found = obstore.get(store, key, options={"range": (offset, offset + length)})
                elif offset:
                    found = obstore.get(store, key, options={"range": {"offset": offset}})
                else:
                    found = obstore.get(store, key)
                return bytes(found.bytes())
            except exceptions.GenericError:  # of a range that begins behind the end, among others
                if obstore.head(store, key)["size"] > offset:
                    raise
                return b""

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        store, key = self._at(path)
        with one_line(path, "read"):
            try:
                found = obstore.get(store, key)
                status = _status(_bucket(path), found.meta)
                if status.size <= most:
                    return Content(bytes(found.bytes()), status)
                options: GetOptions = {"range": (0, most), "if_match": found.meta["e_tag"] or "*"}
                return Content(bytes(obstore.get(store, key, options=options).bytes()), status)
            except MISSING:
                return None

    def read_listed(self, path: str, etag: str) -> bytes:
        found = KEPT.get((self.settings, path), etag)
        if found is not None:
            return found
        store, key = self._at(path)
        with one_line(path, "read"):
            answer = obstore.get(store, key)
            data = bytes(answer.bytes())
        KEPT.keep((self.settings, path), etag_of(answer.meta), data)
        return data

    def list(self, path: str) -> list[FileStatus]:
        store, key = self._at(path)
        with one_line(path, "listed"):
            prefix = f"{key}/" if key else None
            found = again(lambda: obstore.list_with_delimiter(store, prefix), self.clock, READ_SECONDS)
        top = _bucket(path)
        entries = [_status(top, one) for one in found["objects"] if _is_file(one["path"], key)]
        entries += [
            FileStatus(path=f"{top}/{one.rstrip('/')}", size=0, modified_ms=0, is_directory=True, etag="")
            for one in found["common_prefixes"]
        ]
        return sorted(entries, key=lambda one: one.path)

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        store, key = self._at(path)
        last = split(after)[2] if after else None
        top = _bucket(path)
        with one_line(path, "listed"):
            for page in pages(store, f"{key}/" if key else None, self.clock, READ_SECONDS, after=last):
                found = (_status(top, one) for one in page if _is_file(one["path"], key))
                yield from (one for one in found if one.path > after)  # which may end in a slash, as no key does

    def stat(self, path: str) -> FileStatus | None:
        store, key = self._at(path)
        if not key:
            return None
        with one_line(path, "read"):
            try:
                return _status(_bucket(path), obstore.head(store, key))
            except MISSING:
                return None

    def has_folder(self, path: str) -> bool:
        store, key = self._at(path)
        with one_line(path, "listed"):
            return any(
                _is_file(one["path"], key)
                for page in pages(store, f"{key}/" if key else None, self.clock, READ_SECONDS)
                for one in page
            )

    def is_unpublished(self, name: str) -> bool:
        return name.startswith(_CLOCK_NAME)  # an object is put whole

    def guard_of(self, lock: str) -> None:
        del lock

    def first_link(self, path: str, below: str) -> None:
        del path, below

    def delete(self, path: str) -> bool:
        return self.delete_files([path])[0]

    def delete_files(self, paths: Sequence[str]) -> Sequence[bool]:
        """Looks first: a deletion does not say whether anything was there."""
        there: set[str] = set()
        for bucket, of_bucket in _by_bucket(paths).items():
            store, _ = self._at(bucket, changes=True)
            keys = {split(path)[2]: path for path in of_bucket}
            with one_line(of_bucket[0], "read"):
                there.update(keys[key] for key in those_there(store, list(keys), self.clock, CHANGE_SECONDS))
        self.discard([path for path in paths if path in there])
        return [path in there for path in paths]

    def discard(self, paths: Sequence[str]) -> None:
        for bucket, of_bucket in _by_bucket(paths).items():
            store, _ = self._at(bucket, changes=True)
            with one_line(of_bucket[0], "deleted"):
                self._delete(store, [split(path)[2] for path in of_bucket])

    def _is_there(self, path: str) -> bool:
        store, key = self._at(path, changes=True)
        with one_line(path, "read"):
            return is_there(store, key)

    def delete_if(self, path: str, etag: str) -> bool:
        """In two steps, as there is no conditional deletion: only for what no other process replaces."""
        status = self.stat(path)
        return status is not None and status.etag == etag and self.delete(path)

    def delete_tree(self, path: str) -> None:
        store, key = self._at(path, changes=True)
        with one_line(path, "deleted"):
            for page in pages(store, f"{key}/" if key else None, self.clock, CHANGE_SECONDS):
                # the marker of the folder itself is listed by the name of an object that is not below it
                if keys := [one["path"] for one in page if one["path"] != key]:
                    self._delete(store, keys)
            remove_folders(store, key)

    def remove_empty_directory(self, path: str) -> bool:
        if self.has_folder(path):
            return False
        store, key = self._at(path, changes=True)
        with one_line(path, "deleted"):
            remove_folders(store, key)
        return True

    def make_directory(self, path: str) -> None:
        del path

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        del may_change  # all is read from one version
        found = KEPT.get((self.settings, path), etag)
        if found is not None:
            return pa.BufferReader(found)
        store, key = self._at(path)
        file = RangedFile(store, key, path)
        if file.whole is None:
            return pa.PythonFile(file, mode="r")
        if etag:
            KEPT.keep((self.settings, path), (file.etag or "").strip('"'), file.whole)
        return pa.BufferReader(file.whole)

    def open_output(self, path: str) -> pa.NativeFile:
        def put(data: bytes) -> None:
            if not self._put(path, data, "create", changes=False):
                raise AlreadyExistsError(f"{path} exists already", path=path)

        def refuse() -> None:
            if self._is_there(path):
                raise AlreadyExistsError(f"{path} exists already", path=path)

        store, key = self._at(path)
        return pa.PythonFile(Upload(store, key, path, put, refuse, self.clock), mode="w")

    def sync(self, paths: Sequence[str], names: Sequence[str] = ()) -> None:
        del paths, names

    @contextmanager
    def only_while(self, lock: str, token: str) -> Iterator[None]:
        """A look before the change: nothing keeps the lock from being taken over in between."""
        gone = self.stat(lock) is None
        if gone or token.encode() not in self.read(lock):
            how = "its file was removed" if gone else "another process took it over"
            raise WriteConflictError(f"the table lock {lock} was lost: {how}", todo="run it again", path=lock)
        yield

    @contextmanager
    def while_alone(self, lock: str, name: str, *, wait_ms: int = 0) -> Iterator[None]:
        del lock, name, wait_ms
        yield

    def clock_ms(self, folder: str) -> int | None:
        """By an object that is put there and deleted; whole seconds, as stores date objects. For a minute this process
        goes on from what it saw.
        """
        return SEEN.of((self.settings, folder), self.clock, lambda: self._look_at_clock(folder))

    def _look_at_clock(self, folder: str) -> int | None:
        path = f"{folder}/{_CLOCK_NAME}{self.clock.new_uuid()}"
        try:
            self.replace(path, b"")
            status = self.stat(path)
            self.discard([path])
        except AccessDeniedError:
            return None
        return None if status is None else status.modified_ms

    def _put(self, path: str, data: bytes, mode: PutMode, *, changes: bool = True) -> bool:
        """Whether it was put, and no other writer was faster. A put without an answer is settled by looking."""
        store, key = self._at(path, changes=changes)
        put_id, begun = self.clock.new_uuid(), self.clock.monotonic()
        with one_line(path, "written"):
            for tried in range(1, _TRIES + 1):
                try:
                    obstore.put(store, key, data, mode=mode, attributes={PUT_ID: put_id})
                    return True
                except (exceptions.AlreadyExistsError, exceptions.PreconditionError, *MISSING) as error:
                    if isinstance(error, MISSING) and mode == "create":
                        raise  # there is no such bucket
                    found = put_id_of(store, key)
                    if found is None and mode == "create" and tried < _TRIES and not self._is_there(path):
                        continue  # refused for a put at the same moment, of which nothing stayed
                    return found == put_id
                except exceptions.GenericError:
                    if put_id_of(store, key) == put_id:
                        return True
                    if tried == _TRIES or self.clock.monotonic() - begun > CHANGE_SECONDS:
                        raise
                    self.clock.sleep(drawn(self.clock, tried))
        raise AssertionError("unreachable")

    def _delete(self, store: ObjectStore, keys: Sequence[str]) -> None:
        """What another deleted first is no error, as S3 has it of all; neither is what went without an answer."""
        try:
            again(lambda: obstore.delete(store, keys), self.clock, CHANGE_SECONDS)
        except MISSING:
            for key in keys:
                with suppress(*MISSING):
                    obstore.delete(store, key)

    def _at(self, path: str, *, changes: bool = False) -> tuple[ObjectStore, str]:
        scheme, bucket, key = split(path)
        with one_line(path, "opened"):
            return store_of(scheme, bucket, self.settings, changes=changes), key


def _bucket(path: str) -> str:
    scheme, bucket, _ = split(path)
    return f"{scheme}://{bucket}"


def _by_bucket(paths: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(_bucket(path), []).append(path)
    return found


def _is_file(key: str, folder: str) -> bool:
    return key != folder and not key.endswith(_FOLDER_SUFFIX)


def _status(bucket: str, meta: ObjectMeta) -> FileStatus:
    modified: datetime = meta["last_modified"]
    return FileStatus(
        path=f"{bucket}/{meta['path']}",
        size=meta["size"],
        modified_ms=int(modified.timestamp() * 1000),
        is_directory=False,
        etag=etag_of(meta),
    )
