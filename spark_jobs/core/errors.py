"""The errors of the table format: one root, leaves with their data, one line each.

A message says what is wrong, which value it is, and, where there is something to do, what to do. Every leaf carries the
exit code that a job ends with when it lets the error through, so that the contract stands in one place.
"""

from __future__ import annotations

from typing import ClassVar


def _rebuild(kind: type[HudiError], what: str, todo: str, details: dict[str, object]) -> HudiError:
    return kind(what, todo=todo, **details)


class HudiError(Exception):
    """Root of all errors raised on purpose.

    :param what: what is wrong, with the value at fault.
    :param todo: what the reader can do about it; empty when there is nothing to advise.
    :param details: the data of the error, by name; also in :attr:`details`.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, todo: str = "", **details: object) -> None:
        self.what = what
        self.todo = todo
        self.details = details
        super().__init__(f"{what}: {todo}" if todo else what)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.todo, self.details))

    def behind(self, said: str) -> HudiError:
        """The same error, with what was said in front."""
        return _rebuild(type(self), f"{said}: {self.what}", self.todo, self.details)


class ConfigError(HudiError):
    """An option or a ``hoodie.*`` value that is missing, invalid, or at odds with the table."""

    exit_code = 2


class WriteConflictError(HudiError):
    """Another writer changed the same file groups, or this writer lost its right to publish."""

    exit_code = 3


class LockNotAcquiredError(HudiError):
    """The table lock stayed with another owner for longer than this writer may wait."""

    exit_code = 4


class ClockSkewError(HudiError):
    """The clock of this host is too far ahead to give instants to a table."""


class StorageError(HudiError):
    """A path that can't be listed, read or written."""

    exit_code = 5


class AccessDeniedError(StorageError):
    """A path that these credentials, or this user, have no right to."""


class AlreadyExistsError(StorageError):
    """Create-if-absent found that the path is there."""


class InstantTakenError(AlreadyExistsError):
    """Another process put an instant on the timeline, or made its next step, before this one."""

    exit_code = 3


class EtagMismatchError(StorageError):
    """A conditional replace or delete found another version of the file than the one it was given."""


class InstantGoneError(StorageError):
    """An instant that a loaded timeline has was taken back since by another process: load it again."""


class TableNotFoundError(StorageError):
    """There is no ``.hoodie/hoodie.properties`` below the base path."""


class UnsupportedTableError(StorageError):
    """A table version or feature that this release does not read or write."""


class CorruptTableError(StorageError):
    """A file of the table contradicts the format."""


class OutsideTableError(HudiError):
    """A file of the table names a path that leads out of the table's folder, or a link there does.

    Neither a storage that fails nor a file that is not yet whole: nobody who gets over those gets over this one.
    """

    exit_code = 5


class UnknownInstantError(CorruptTableError):
    """A file, or a block in one, of an instant that is older than the timeline, and nothing on record says whether its
    write was completed.
    """

    @classmethod
    def of(cls, instant: str, where: str, **details: object) -> UnknownInstantError:
        """:param where: the file, or the block and its file."""
        return cls(
            f"{where} is of instant {instant}, which is older than the active timeline: neither the archive nor a "
            "later commit says that its write was completed, nor any rollback that it was not",
            todo="run validate.py; delete the file if its write was refused, restore the archive from a copy, or name "
            "by pyhudi.archive.lost.before in hoodie.properties from where on it is whole",
            instant=instant,
            **details,
        )


RESTORE_FILE = "restore it from a copy of the table; validate.py names every file that is damaged"
"""What to do where a file of the timeline is unreadable."""


class InstantStateError(CorruptTableError):
    """An instant that was asked to take a step which its state on the timeline does not allow: mostly another process
    moved it or took it back.
    """

    exit_code = 3


class BadRecordError(HudiError):
    """Input rows that can't become records: null keys, a missing column, a type that does not fit."""
