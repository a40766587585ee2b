"""Renewing a lease while its holder works."""

from __future__ import annotations

import threading

from spark_jobs.core.errors import EtagMismatchError, LockNotAcquiredError, StorageError, WriteConflictError
from spark_jobs.core.locks.fenced_storage import FencedStorage


class Renewal:
    """Writes a held lock file again, from a thread, so that it never looks old, until it is stopped.

    The file's time is what others judge by. A lock that was taken over is not renewed; a storage that fails once may
    serve the next time.
    """

    def __init__(self, storage: FencedStorage, path: str, content: bytes, interval_ms: float) -> None:
        self._storage = storage
        self._path = path
        self._content = content
        self._interval = interval_ms / 1000
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lock-renewal", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Also one whose start was broken off."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _renew(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                status = self._storage.stat(self._path)
                if status is None:
                    return
                # over the version that was looked at: one that somebody took over since stays his. And forced: a lock
                # whose content a loss of power takes away would look like one of Hudi's, which stays
                self._storage.replace_if(self._path, self._content, status.etag)
            except WriteConflictError:
                return
            except (StorageError, LockNotAcquiredError, EtagMismatchError):
                continue
