"""Keys that are found in several file groups, in some of which logs removed their records."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from operator import itemgetter

import numpy as np

from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.protocol import Engine
from spark_jobs.write.direct.locate import Found, Hits, KeySearch, find_in
from spark_jobs.write.direct.tagged import Numbers


def without_dead_places(
    engine: Engine, tasks: int, search: KeySearch, slices: Mapping[int, FileSlice], found: Found
) -> Found:
    """``found`` without the places in which a key has no row, where it is in several groups."""
    logged = frozenset(number for number, one in slices.items() if one.log_files)
    doubtful = {number: slices[number] for hits in found.values() for number in doubtful_groups(hits, logged)}
    if not doubtful:
        return found
    alive = find_in(engine, tasks, replace(search, live_alone=True), doubtful)
    return {
        partition: living_places(hits, frozenset(doubtful), dict(alive.get(partition, [])))
        for partition, hits in found.items()
    }


def doubtful_groups(hits: Hits, logged: Collection[int]) -> list[int]:
    """The file groups with logs that have keys which others have, too.

    :param hits: of one partition.
    """
    return [number for number, places in hits if number in logged and _several(hits)[places].any()]


def living_places(hits: Hits, doubtful: Collection[int], living: Mapping[int, Numbers]) -> Hits:
    """``hits`` where a key of several groups keeps those where it has a row, or one where it has none in any: a record
    written to a second group would be there twice.

    :param living: by doubtful group the places of the keys that have a row there.
    """
    hits = sorted(hits, key=itemgetter(0))  # they come as tasks were done: the same group is first each time
    none = np.zeros(0, np.int64)
    several = _several(hits)
    dead = [
        np.isin(places, living.get(number, none), invert=True) & several[places]
        if number in doubtful
        else np.zeros(len(places), bool)
        for number, places in hits
    ]
    lives = np.zeros(len(several), bool)
    for (_, places), gone in zip(hits, dead, strict=True):
        lives[places[~gone]] = True
    kept: Hits = []
    for (number, places), gone in zip(hits, dead, strict=True):
        stays = ~gone | ~lives[places]
        lives[places[stays]] = True  # the first group of a key without a row is its only one
        if stays.any():
            kept.append((number, places[stays]))
    return kept


def _several(hits: Hits) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """By place, whether more than one group has the key."""
    return np.bincount(np.concatenate([np.zeros(0, np.int64), *(places for _, places in hits)])) > 1
