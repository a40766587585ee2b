"""Which of some objects are there: by listings where they lie close together, by a look at each where they don't."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import obstore
from obstore.store import ObjectStore

from spark_jobs.core.clock import Clock
from spark_jobs.core.storage.objects.again import pages
from spark_jobs.core.storage.objects.failure import MISSING
from spark_jobs.core.storage.sought import SOUGHT_FROM, before, folder_around, sought

_AT_ONCE: Final = 16
"""Looks that don't wait for each other."""


def those_there(store: ObjectStore, keys: Sequence[str], clock: Clock, seconds: float) -> set[str]:
    """
    :param keys: whole ones, in any order.
    :param seconds: after which a listing that breaks is not asked for again.
    """
    asked = sorted(set(keys))
    found, passed = _listed(store, asked, clock, seconds) if len(asked) >= SOUGHT_FROM else (set[str](), 0)
    if left := asked[passed:]:
        with ThreadPoolExecutor(min(len(left), _AT_ONCE)) as pool:
            looks = pool.map(lambda key: is_there(store, key), left)
            found.update(key for key, there in zip(left, looks, strict=True) if there)
    return found


def is_there(store: ObjectStore, key: str) -> bool:
    try:
        obstore.head(store, key)
    except MISSING:
        return False
    return True


def _listed(store: ObjectStore, asked: Sequence[str], clock: Clock, seconds: float) -> tuple[set[str], int]:
    """Those of sorted keys that a listing has, and how many of them it came past."""
    folder = folder_around(asked)
    listing = pages(store, f"{folder}/" if folder else None, clock, seconds, after=before(asked))
    found, passed = sought(asked, ((one["path"], None) for page in listing for one in page))
    return set(found), passed
