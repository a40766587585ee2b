"""Whether a storage takes notice of the conditions of a put: that nothing is there, or one version alone."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from spark_jobs.core.errors import AlreadyExistsError, EtagMismatchError, UnsupportedTableError
from spark_jobs.core.storage import Storage
from spark_jobs.core.storage.protocol import NO_VERSION

CONDITIONS: Final = ".locks/conditions"
"""In the folder ``.hoodie``: where they are tried by writers whose lock is no file."""
_KEPT: Final[set[str]] = set()
"""Files at which this process saw that they are kept."""


def refuse_careless(storage: Storage, path: str) -> None:
    """Try, once in a process, two puts that have to be refused, of what the file says anyway.

    :param path: of a file that nobody changes meanwhile; it is made where there is none.
    :raises UnsupportedTableError: one was not refused, as by some servers that speak S3.
    """
    if path in _KEPT:
        return
    found = storage.load(path)
    if found is None:
        storage.create(path, b"")
    content = b"" if found is None else found.data
    with suppress(EtagMismatchError):
        with suppress(AlreadyExistsError):
            storage.create(path, content)
            raise _careless(path)
        storage.replace_if(path, content, NO_VERSION)
        raise _careless(path)
    _KEPT.add(path)


def _careless(path: str) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"the storage of {path} puts an object whatever condition it is given: two writers would publish one name",
        todo="use a store that keeps If-None-Match and If-Match, or a newer release of its server",
        path=path,
    )
