"""Which of some objects are there: by listings where they lie close together, by a look at each where they don't."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from posixpath import commonpath
from typing import Final

import obstore
from obstore.store import ObjectStore

from spark_jobs.core.clock import Clock
from spark_jobs.core.storage.objects.again import pages
from spark_jobs.core.storage.objects.failure import MISSING

_LISTED_FROM: Final = 10
"""Fewer are looked at one by one; so many of what is asked for pay for a page of a listing, which takes longer."""
_AT_ONCE: Final = 16
"""Looks that don't wait for each other."""


def those_there(store: ObjectStore, keys: Sequence[str], clock: Clock, seconds: float) -> set[str]:
    """
    :param keys: whole ones, in any order.
    :param seconds: after which a listing that breaks is not asked for again.
    """
    asked = sorted(set(keys))
    found, reached = _listed(store, asked, clock, seconds) if len(asked) >= _LISTED_FROM else (set[str](), 0)
    if left := asked[reached:]:
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
    """Those of sorted keys that a listing has, and how many of them it came to before it went on for too long."""
    folder = commonpath([asked[0].rpartition("/")[0], asked[-1].rpartition("/")[0]])
    wanted, found, reached, left = set(asked), set[str](), 0, len(asked) // _LISTED_FROM
    for page in pages(store, f"{folder}/" if folder else None, clock, seconds, after=asked[0][:-1]):
        found.update(one["path"] for one in page if one["path"] in wanted)
        last = page[-1]["path"] if page else ""
        while reached < len(asked) and asked[reached] <= last:
            reached += 1
        left -= 1
        if reached == len(asked) or not left:
            return found, reached
    return found, len(asked)
