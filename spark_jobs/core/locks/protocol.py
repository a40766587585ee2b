"""What a table lock is: whoever holds it has a lease, by which changes of the table are fenced."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from spark_jobs.core.storage import Storage


class Lease(Protocol):
    """One acquisition of a lock, named by a token of its own: its epoch ends with its release, or when another takes
    the lock over. Pickles.
    """

    @property
    def token(self) -> str: ...

    def held(self, storage: Storage) -> AbstractContextManager[None]:
        """Make a change only while the lease holds; whoever would end it meanwhile waits for the end of the block.

        :raises WriteConflictError: it ended; nothing of the block is done.
        :raises LockNotAcquiredError: somebody is in the middle of taking the lock over, and stays there.
        """
        ...


class TableLock(Protocol):
    """A context manager for one acquisition; not reentrant. A renewal keeps the lease while the holder lives."""

    @property
    def storage(self) -> Storage:
        """The storage by which the table may be changed, as long as this lock is held."""
        ...

    def acquire(self) -> None:
        """
        :raises LockNotAcquiredError: the lock stayed with another for the whole wait.
        """
        ...

    def is_held(self) -> bool: ...

    def release(self) -> None:
        """End the lease, if it has not ended; never that of another."""
        ...

    def __enter__(self) -> TableLock: ...

    def __exit__(self, *error: object) -> None: ...
