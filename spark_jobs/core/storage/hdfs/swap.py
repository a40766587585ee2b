"""Compare and swap in HDFS, which has no such call: a folder that one at a time can be in, and renames out of it.

The folder is renamed to its place with what it holds, which the NameNode refuses where one is. It is removed by the
next one where it stays for ten seconds, as after a death; whoever was in it has nothing to rename then, and begins
anew.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from hdfs_native import Client

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import LockNotAcquiredError
from spark_jobs.core.storage.hdfs.failure import FAILURES
from spark_jobs.core.storage.hdfs.publish import TEMPORARY_SUFFIX, NewFile, drop, info, version

_SUFFIX: Final = f".swap{TEMPORARY_SUFFIX}"
_STALE_MS: Final = 10_000
_WAIT_SECONDS: Final = 30
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """One change of one version of a file.

    :param folder: where the folder of the swap is made; the same for all who change the file.
    :param new: what is put there; None for a deletion.
    """

    client: Client
    clock: Clock
    folder: str
    file: str
    etag: str
    new: NewFile | None
    folders: int

    def run(self) -> bool:
        """False where the file is another version, or gone.

        :raises LockNotAcquiredError: others stayed in the folder for the whole wait.
        """
        deadline, pause = self.clock.monotonic() + _WAIT_SECONDS, _FIRST_PAUSE
        while True:
            if not self._is_asked_for():
                return False
            try:
                done = self._try()
            except FileNotFoundError:  # the folder was removed, or what it is in
                done = None
            if done is not None:
                return done
            if self.clock.monotonic() > deadline:
                raise LockNotAcquiredError(
                    f"{self.file} is being changed by others after a wait of {_WAIT_SECONDS} s",
                    todo="run it again",
                    path=self.file,
                )
            self.clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _try(self) -> bool | None:
        """None where another is in the folder."""
        own = self.clock.new_uuid()
        temporary = f"{self.folder}/{own}{TEMPORARY_SUFFIX}"
        taken = f"{self.folder}/{self.file.rpartition('/')[2]}{_SUFFIX}"
        self.client.mkdirs(f"{temporary}/{own}", self.folders, True)
        try:
            if self.new is not None:
                self.new.write(self.client, f"{temporary}/{own}/new", in_new_folders=False)
            self.client.rename(temporary, taken)
        except FAILURES as error:
            if isinstance(error, FileExistsError):
                self._sweep(taken, temporary)
            drop(self.client, temporary)
            if isinstance(error, FileExistsError):
                return None
            raise
        try:
            return self._is_asked_for() and self._change(f"{taken}/{own}")
        finally:
            drop(self.client, f"{taken}/{own}")
            with suppress(*FAILURES):  # it is another's by now, who is in it
                self.client.delete(taken)

    def _change(self, inside: str) -> bool:
        if self.new is not None:
            self.new.publish(self.client, f"{inside}/new", self.file, over=True)
            return True
        try:
            self.client.rename(self.file, f"{inside}/old")
        except FileNotFoundError:
            if info(self.client, f"{inside}/old") is None:
                raise
        return True

    def _is_asked_for(self) -> bool:
        status = info(self.client, self.file)
        return status is not None and not status.isdir and version(status) == self.etag

    def _sweep(self, taken: str, temporary: str) -> None:
        """Remove the folder of one that is not heard of any more, by the time of the NameNode."""
        then, now = info(self.client, taken), info(self.client, temporary)
        if then and now and now.modification_time - then.modification_time > _STALE_MS:
            drop(self.client, taken)
