"""From what HDFS says to an error of one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from spark_jobs.core.errors import AccessDeniedError, StorageError

FAILURES: Final = (OSError, RuntimeError)
"""What hdfs-native raises: of Python's own kinds of ``OSError`` some, for all else a ``RuntimeError``."""
_CLASS: Final = re.compile(r'^(?:Fatal)?RPCError\("[\w.$]*?(\w+)", "(.*)', re.S)
_DENIED: Final = "AccessControlException"
_NOT_EMPTY: Final = "PathIsNotEmptyDirectoryException"
_REASONS: Final = {
    _DENIED: "access denied",
    "SafeModeException": "the NameNode is in safe mode",
    "StandbyException": "no NameNode is active",
    "NSQuotaExceededException": "the quota of names is used up",
    "DSQuotaExceededException": "the quota of space is used up",
    "InvalidPathException": "HDFS has no names with `:`, and no empty ones, `.` or `..`",
    "ParentNotDirectoryException": "a part of this path is a file",
}
_ADVICE: Final = {
    _DENIED: "give this user the right to it (HADOOP_USER_NAME names another one), or choose another path",
    "SafeModeException": "wait until the NameNode has left it, then run it again",
    "NSQuotaExceededException": "free some space, then run it again; the table is unchanged",
    "DSQuotaExceededException": "free some space, then run it again; the table is unchanged",
    "InvalidPathException": "choose another path; values of partitions get such names where "
    "hoodie.datasource.write.partitionpath.urlencode is true",
    "ParentNotDirectoryException": "choose another path",
}
_MISSING: Final = "check the path; where a table lists the file, validate.py says what mends that"
_FOLDER_IN_THE_WAY: Final = "must both be directories"
_LONGEST: Final = 160


@contextmanager
def one_line(path: str, verb: str) -> Iterator[None]:
    """
    :param verb: what can't be done to the path: "read", "written", ...
    :raises StorageError: for what hdfs-native raises inside, and for a path that can be none.
    """
    try:
        yield
    except FAILURES as error:
        todo = _MISSING if isinstance(error, FileNotFoundError) else _ADVICE.get(_kind(error), "")
        kind = AccessDeniedError if is_denied(error) else StorageError
        raise kind(f"{path} can't be {verb} ({reason_of(error)})", todo=todo, path=path) from error
    except UnicodeError as error:
        raise StorageError(
            f"{path!r} can't be {verb} (it has characters that no path has)", todo="check the path", path=path
        ) from error


def reason_of(error: BaseException) -> str:
    """What matters of an error that has the NameNode's stack in its text."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    kind, text = _kind(error), str(error)
    if kind in _REASONS:
        return _REASONS[kind]
    if is_folder_in_the_way(error):
        return "this path is a folder"
    found = _CLASS.match(text)
    first = (found[2] if found else text).partition("\\n")[0].partition("\n")[0]
    return first[:_LONGEST] or type(error).__name__


def is_not_empty(error: BaseException) -> bool:
    """Whether a folder was not removed because it has entries."""
    return _kind(error) == _NOT_EMPTY


def is_denied(error: BaseException | None) -> bool:
    return error is not None and _kind(error) == _DENIED


def is_folder_in_the_way(error: BaseException) -> bool:
    """Whether a file was not renamed because its new name is a folder's."""
    return _FOLDER_IN_THE_WAY in str(error)


def _kind(error: BaseException) -> str:
    """The class of the NameNode's exception, without its package."""
    found = _CLASS.match(str(error))
    return found[1] if found else ""
