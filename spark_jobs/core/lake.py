"""The lake: where tables lie, which storage serves a URL, what time it is there, and which lock a writer takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.errors import StorageError
from spark_jobs.core.locks.choose import LockChoice, choose_lock
from spark_jobs.core.storage import ConfinedStorage, LocalStorage, Storage
from spark_jobs.core.storage.hdfs.names import SCHEME as HDFS_SCHEME
from spark_jobs.core.storage.hdfs.names import is_of_hdfs, settings_of
from spark_jobs.core.storage.objects.schemes import SCHEMES, refuse_unknown
from spark_jobs.core.storage.url_parts import url_parts

_LOCAL = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file or a folder of a lake: its ``url``, the ``storage`` that serves it, and its ``path`` as that storage takes
    it, without a trailing slash.
    """

    url: str
    storage: Storage
    path: str

    def confined(self) -> ConfinedStorage:
        """The storage of a table at this place, which refuses what lies outside of it."""
        return ConfinedStorage.around(self.storage, self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """Made at the edge (entry points, hooks, tests), and handed to whatever opens a table or a file. Pickles.

    ``storages`` has one for each scheme that is served; ``file`` serves paths too. Beside them stores of objects and
    HDFS are served, reached by ``object_settings`` (each over those before it) and what the environment has.
    ``choose_lock`` gives the lock of a table by the ``hoodie.*`` values of a job, its storage, and the folder of its
    lock file.
    """

    storages: Mapping[str, Storage] = field(default_factory=lambda: {_LOCAL: LocalStorage()})
    object_settings: tuple[Mapping[str, str], ...] = field(default=(), repr=False)
    clock: Clock = SYSTEM_CLOCK
    choose_lock: Callable[[Mapping[str, str], Storage, str], LockChoice] = choose_lock

    def reached_by(self, options: Mapping[str, str] | None) -> Lake:
        """The same lake, whose stores of objects, and HDFS, are reached by these options and, below them, its own.

        :param options: by the names of AWS, Azure, Google, delta-rs, PyIceberg or Hadoop; of several kinds of stores
            each reads its own. Nothing shows the secrets among them.
        :raises ConfigError: one that nothing reads.
        """
        if not options:
            return self
        refuse_unknown({name: value for name, value in options.items() if not is_of_hdfs(name)})
        return replace(self, object_settings=(*self.object_settings, dict(options)))

    def place(self, url: str) -> Place:
        """
        :param url: with a scheme, or a path of this machine.
        :raises StorageError: no storage serves the scheme, or it has no bucket.
        """
        scheme = _scheme(url)
        before, colon, after = url.partition(":")
        if colon and before.lower() in {*SCHEMES, HDFS_SCHEME} and not after.startswith("//"):
            raise StorageError(f"{url} names no bucket or host", todo=f"give {before.lower()}://...", url=url)
        storage = self.storages.get(scheme or _LOCAL) or self._objects(scheme, url) or self._hdfs(scheme, url)
        if storage is None:
            served = ", ".join(f"{one}:" for one in sorted({*self.storages, *SCHEMES, HDFS_SCHEME}))
            raise StorageError(
                f"no storage for the scheme {scheme!r} of {url}",
                todo=f"this release serves local paths and {served} URLs",
                url=url,
            )
        if scheme == "":
            path = os.path.abspath(url)
            return Place(url=path, storage=storage, path=path)
        if scheme == _LOCAL:
            return Place(url=url, storage=storage, path=os.path.abspath(unquote(url_parts(url)[2])))
        url = f"{scheme}{url[len(scheme) :]}"  # which is written in small letters from here on
        return Place(url=url.rstrip("/"), storage=storage, path=url.rstrip("/"))

    def _objects(self, scheme: str, url: str) -> Storage | None:
        """
        :raises StorageError: what serves the scheme is not installed.
        """
        if scheme not in SCHEMES:
            return None
        try:
            from spark_jobs.core.storage.objects.storage import ObjectStorage
        except ModuleNotFoundError as error:
            if error.name != "obstore":
                raise
            raise StorageError(
                f"{url} can't be opened without the package obstore", todo="pip install 'pyhudi[objects]'", url=url
            ) from error
        return ObjectStorage(tuple(tuple(sorted(one.items())) for one in self.object_settings), self.clock)

    def _hdfs(self, scheme: str, url: str) -> Storage | None:
        """
        :raises StorageError: what serves the scheme is not installed.
        """
        if scheme != HDFS_SCHEME:
            return None
        try:
            from spark_jobs.core.storage.hdfs.storage import HdfsStorage
        except ModuleNotFoundError as error:
            if error.name != "hdfs_native":
                raise
            raise StorageError(
                f"{url} can't be opened without the package hdfs-native", todo="pip install 'pyhudi[hdfs]'", url=url
            ) from error
        return HdfsStorage(settings_of(self.object_settings), self.clock)


LAKE = Lake()
"""Local paths, by the clock of this machine."""


def _scheme(url: str) -> str:
    """Empty for a path."""
    return urlsplit(url).scheme if "://" in url or url.startswith(f"{_LOCAL}:") else ""
