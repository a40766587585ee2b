"""From what a file system says to an error of one line."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from spark_jobs.core.errors import StorageError
from spark_jobs.core.text import is_unicode

_ADVICE = {
    errno.ENOSPC: "free some space, then run it again; the table is unchanged",
    errno.EDQUOT: "free some space, then run it again; the table is unchanged",
    errno.EACCES: "give this user the right to it, or choose another path",
    errno.EPERM: "give this user the right to it, or choose another path",
    errno.EROFS: "choose a path on a writable file system",
    errno.ENOTDIR: "a part of this path is a file; choose another path",
    errno.EEXIST: "a part of this path is a file; choose another path",
    errno.EISDIR: "this path is a directory; choose another path",
    errno.ENOENT: "check the path; where a table lists the file, validate.py says what mends that",
}


@contextmanager
def one_line(path: str, verb: str) -> Iterator[None]:
    """
    :param verb: what can't be done to the path: "read", "written", ...
    :raises StorageError: for an ``OSError`` inside, and for a path that can be none.
    """
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise StorageError(
            f"{path} can't be {verb} ({reason})",
            todo=_ADVICE.get(error.errno or 0, ""),
            path=path,
            errno=error.errno,
        ) from error
    except ValueError as error:
        if is_unicode(path) and "\0" not in path:
            raise
        raise StorageError(
            f"{path!r} can't be {verb} (it has characters that no path has)", todo="check the path", path=path
        ) from error
