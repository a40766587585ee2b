"""The guard of a lock file in HDFS: a folder beside it, through which each change under the lock goes.

Whoever changes the table makes a folder of its own below the guard, looks at the lock file, and makes the change by one
rename that begins or ends in that folder. Whoever made, took over or removed the lock file then removes the guard with
all that is below, in one step: a change of the one before that was under way has no folder any more, and the NameNode
refuses it, however late it comes. Nobody waits for anybody, and who dies or is suspended keeps nobody out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, TypeVar

from hdfs_native import Client

from spark_jobs.core.clock import Clock
from spark_jobs.core.storage.hdfs.publish import drop, info

T = TypeVar("T")
GUARD_SUFFIX: Final = ".guard"
"""Behind the name of the lock file, as on local disks."""
_TRIES: Final = 3


@dataclass(slots=True)
class Passage:
    """The way of the changes of one thread; ``entry`` is its folder now, empty where it has none.

    :param authority: whose file system it is of.
    :param guard: the path of the guard.
    :param look: raises where the lock file is another's.
    """

    client: Client
    authority: str
    guard: str
    look: Callable[[], None] | None
    clock: Clock
    folders: int
    entry: str = ""

    def enter(self) -> None:
        """The folder first: a lock file that is looked at after it is one whose next taker removes that folder."""
        entry = f"{self.guard}/{self.clock.new_uuid()}"
        self.client.mkdirs(entry, self.folders, True)
        self.entry = entry
        if self.look is not None:
            self.look()

    def change(self, make: Callable[[str], T]) -> T:
        """Make a change through the folder; where that was removed and the lock is held all the same, through another.

        :raises FileNotFoundError: something else is missing.
        :raises WriteConflictError: the lock is another's.
        """
        for tries_left in reversed(range(_TRIES)):
            try:
                return make(self.entry)
            except FileNotFoundError:
                if not tries_left or info(self.client, self.entry) is not None:
                    raise
            self.enter()
        raise AssertionError("unreachable")


_WAY: ContextVar[Passage | None] = ContextVar("_WAY", default=None)


def way(authority: str) -> Passage | None:
    """How changes of this thread go now; None where they are under no lock, or of who is alone with the lock file."""
    found = _WAY.get()
    return found if found is not None and found.authority == authority and found.look is not None else None


def guard_of_this_thread(authority: str) -> str | None:
    """The guard that this thread is inside of, or alone with."""
    found = _WAY.get()
    return found.guard if found is not None and found.authority == authority else None


@contextmanager
def on_the_way(passage: Passage) -> Iterator[None]:
    token = _WAY.set(passage)
    try:
        yield
    finally:
        _WAY.reset(token)
        if passage.entry:
            drop(passage.client, passage.entry)
