"""What stores of objects do differently, each difference in one function: nothing else looks at which kind one is."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import obstore
from obstore import exceptions
from obstore.store import AzureStore, GCSStore, ObjectStore

from spark_jobs.core.storage.objects.failure import MISSING
from spark_jobs.core.storage.protocol import NO_VERSION

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutMode

_NO_GENERATION: Final = str((1 << 63) - 1)
"""Those of objects are microseconds since 1970."""


def etag_of(meta: ObjectMeta) -> str:
    """The version of an object, without quotes: a listing of Azure has none, where other answers do."""
    return (meta["e_tag"] or "").strip('"')


def mode_over(store: ObjectStore, key: str, etag: str) -> PutMode | None:
    """How an object is put over one version of it alone; None where that is gone.

    GCS compares generations, which no listing has: the etag is looked at, and the put is one over the generation that
    came with it.
    """
    if not isinstance(store, GCSStore):
        return {"e_tag": f'"{etag}"'}
    if etag == NO_VERSION:
        return {"version": _NO_GENERATION}
    try:
        meta = obstore.head(store, key)
    except MISSING:
        return None
    return {"version": meta["version"]} if etag_of(meta) == etag else None


def reads_tails(store: ObjectStore) -> bool:
    """Whether the last bytes of an object can be asked for before its size is known."""
    return not isinstance(store, AzureStore)


def remove_folders(store: ObjectStore, key: str) -> None:
    """Remove what stays of a folder whose files are deleted, where folders are more than a part of names: in accounts
    of Azure with a hierarchical namespace. They remove an empty folder by the request that deletes a file, refuse it of
    any other, and say of a folder that it is no file.
    """
    if not isinstance(store, AzureStore) or not key:
        return
    for folder in obstore.list_with_delimiter(store, f"{key}/")["common_prefixes"]:
        remove_folders(store, folder.rstrip("/"))
    with suppress(exceptions.AlreadyExistsError, *MISSING):  # it has a file again; or there is none
        if not _is_file(store, key):
            obstore.delete(store, key)


def _is_file(store: ObjectStore, key: str) -> bool:
    try:
        obstore.head(store, key)
    except MISSING:
        return False
    return True
