"""Paths below the base path of a table: what a file of a table names is one of these, or an error.

A table is data, which others may have written: the partitions and files that its plans, commits, markers and listings
name become paths by these values alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from spark_jobs.core.errors import OutsideTableError

_SOMEWHERE = "a file of the table"
_NO_NAMES = frozenset(("", ".", ".."))
_made = str.__new__


class RelativePath(str):
    """The text of a path below a base path, whose parts are names; ``""`` is the base path itself.

    :param where: the file that names it, for the message.
    :raises OutsideTableError: a part is empty, ``.`` or ``..``, as of an absolute path, or it has a NUL character.
    """

    __slots__ = ()

    def __new__(cls, text: str, where: str = _SOMEWHERE) -> Self:
        if not is_inside(text):
            raise outside(text, where)
        return super().__new__(cls, text)


def is_inside(text: str) -> bool:
    """Whether a text is a path that leads nowhere but below where it begins."""
    if "/." not in text and "//" not in text and text[:1] not in "./" and text[-1:] != "/" and "\0" not in text:
        return True  # most are as plain
    parts = text.split("/")
    return not text or not ("" in parts or "." in parts or ".." in parts or "\0" in text)


def outside(text: Any, where: str, of: str = "the table") -> OutsideTableError:
    """The error of a path that is none below ``of``."""
    return OutsideTableError(
        f"{where} names {str(text)[:200]!r}, which is no path below {of}",
        todo="nothing there was touched; find out who wrote that file, and restore it from a copy of the table",
        where=where,
        path=str(text),
    )


def resolve(base_path: str, path: RelativePath) -> str:
    """The whole path, as a storage takes it."""
    return f"{base_path}/{path}" if path else base_path


def join(partition: str, name: str) -> RelativePath:
    """A path below the base path; a table without partitions has the partition ``""``.

    :raises OutsideTableError: see :class:`RelativePath`.
    """
    text = f"{partition}/{name}" if partition else name
    if is_inside(text):
        return _made(RelativePath, text)  # as by the constructor: a listing has a hundred thousand of them
    raise outside(text, _SOMEWHERE)


def named_file(partition: str, path: str, where: str) -> RelativePath:
    """The file of a partition that a plan, a commit or another record names, by its name alone, by its path below the
    base path, or by a whole one: that of another place where the table was copied or moved since.

    :param where: the file that holds the record, for the message.
    :raises OutsideTableError: the partition is no path below the base path, or the path does not end in the partition
        and a name.
    """
    name = path[path.rfind("/") + 1 :]
    if not name or not is_inside(partition) or not is_inside(name):
        raise outside(path if is_inside(partition) else partition, where)
    found = f"{partition}/{name}" if partition else name
    if path != name and path != found and not path.endswith(f"/{found}"):
        raise outside(path, where)
    return RelativePath(found, where)


def written_path(partition: RelativePath, path: str, where: str) -> RelativePath:
    """A path of a file that was written; releases of Hudi differ in whether a slash comes first, before the partition.

    :param where: the file that holds it, for the message.
    :raises OutsideTableError: it is no path below the base path.
    """
    if path[:1] == "/" and path[1 : path.rfind("/") + 1] == (f"{partition}/" if partition else ""):
        path = path[1:]
    if not path or not is_inside(path):
        raise outside(path, where)
    return _made(RelativePath, path)


def file_name(name: str, where: str) -> str:
    """A name of a file or of a file group, which is one part of a path.

    :raises OutsideTableError: it is more than that.
    """
    if "/" in name or name in _NO_NAMES or "\0" in name:
        raise outside(name, where)
    return name


def refuse_paths(names: Iterable[str], where: str) -> None:
    """
    :raises OutsideTableError: one of the names is more than one part of a path.
    """
    for name in names:
        file_name(name, where)
