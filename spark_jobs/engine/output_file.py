"""A file that the caller of a job names for its output: checked before the job begins, written whole at its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from stat import S_ISREG

from spark_jobs.core.errors import AccessDeniedError, HudiError
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.lake import Lake
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.storage.protocol import Storage
from spark_jobs.options import OptionsError


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFile:
    """A place that may take the output of a job. What stands there stays until the output is complete."""

    option: str
    location: str
    storage: Storage
    path: str

    @classmethod
    def checked(cls, option: str, location: str, base_path: str, lake: Lake) -> OutputFile:
        """
        :param option: by which the caller named it, for messages.
        :param location: path or URL as the caller gave it.
        :param base_path: of the job's table, which may not be there yet; empty where the job knows none.
        :raises OptionsError: a folder, a link, a device, or a place inside a table.
        :raises StorageError: nothing can be written there.
        """
        place = lake.place(location)
        storage, path = place.storage, _real(place.storage, place.path)
        made = cls(option=option, location=location, storage=storage, path=path)
        made._refuse_irregular()
        made._refuse_table(base_path, lake)
        beside = f"{path}.{lake.clock.new_uuid()}.check"
        storage.create(beside, b"")  # reports now whether the place can be written
        storage.delete(beside)
        return made

    def beside(self, named: Callable[[str], str]) -> OutputFile:
        """Another place in the same folder.

        :param named: its path or URL from that of this one.
        """
        return replace(self, location=named(self.location), path=named(self.path))

    def write(self, data: bytes) -> None:
        """Put the output in the place of whatever regular file stands there, in one step.

        :raises OptionsError: something else stands there now.
        :raises StorageError: it can't be written.
        """
        self._refuse_irregular()
        self.storage.replace(self.path, data)

    def _refuse_irregular(self) -> None:
        if isinstance(self.storage, LocalStorage):
            try:
                regular = S_ISREG(os.lstat(self.path).st_mode)
            except OSError:  # nothing there, or a folder that can't be searched, which the first write reports
                return
        else:
            status = self.storage.stat(self.path)
            regular = status is None or not status.is_directory
        if not regular:
            raise OptionsError(f"{self._given} is no regular file: give the path of a file, or of none yet")

    def _refuse_table(self, base_path: str, lake: Lake) -> None:
        """Neither the job's own table, nor any other that a folder above holds, as far up as one may look."""
        tables = [base_path] if base_path and _is_below(self.storage, self.path, base_path, lake) else []
        with suppress(AccessDeniedError):
            for folder in _folders_above(self.path):
                tables += [folder] if _holds_table(self.storage, folder) else []
        if tables:
            table = tables[0].removesuffix(f"/{META_FOLDER}")
            raise OptionsError(f"{self._given} lies inside the table {table}: give a path outside of it")

    @property
    def _given(self) -> str:
        return f"{self.option}={self.location}"


def _real(storage: Storage, path: str) -> str:
    """A local path with the links of its folders followed, so that the folders above it are those it lies in."""
    if not isinstance(storage, LocalStorage):
        return path
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def _folders_above(path: str) -> Iterator[str]:
    """From the nearest up to the last one below the root, or below a URL's scheme."""
    folder = path.rpartition("/")[0]
    while folder and not folder.endswith("/"):
        yield folder
        folder = folder.rpartition("/")[0]


def _holds_table(storage: Storage, folder: str) -> bool:
    return folder.endswith(f"/{META_FOLDER}") or storage.has_folder(f"{folder}/{META_FOLDER}")


def _is_below(storage: Storage, path: str, base_path: str, lake: Lake) -> bool:
    try:
        place = lake.place(base_path)
    except HudiError:  # the job itself reports it
        return False
    base, other = place.path, place.storage
    if isinstance(storage, LocalStorage) != isinstance(other, LocalStorage):
        return False
    if isinstance(other, LocalStorage):
        base = os.path.realpath(base)
    base = base.rstrip("/")
    return path == base or path.startswith(f"{base}/")
