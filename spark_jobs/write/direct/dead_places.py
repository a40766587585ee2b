"""Keys that are found in several file groups, in some of which logs removed their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.protocol import Engine
from spark_jobs.write.direct.locate import Found, KeySearch, find_in
from spark_jobs.write.direct.tagged import Numbers


def without_dead_places(
    engine: Engine, tasks: int, search: KeySearch, slices: Mapping[int, FileSlice], found: Found
) -> Found:
    """``found`` where a key of several groups keeps those where it has a row, or one where it has none in any: a record
    written to a second group would be there twice.
    """
    doubtful = {
        number: slices[number]
        for hits in found.values()
        for number, places in hits
        if slices[number].log_files and _several(hits)[places].any()
    }
    if not doubtful:
        return found
    alive = find_in(engine, tasks, replace(search, live_alone=True), doubtful)
    kept: Found = {}
    for partition, hits in found.items():
        living = dict(alive.get(partition, []))
        none = np.zeros(0, np.int64)
        dead = [
            np.isin(places, living.get(number, none), invert=True) & _several(hits)[places]
            if number in doubtful
            else np.zeros(len(places), bool)
            for number, places in hits
        ]
        lives = np.zeros(len(_several(hits)), bool)
        for (_, places), gone in zip(hits, dead, strict=True):
            lives[places[~gone]] = True
        kept[partition] = []
        for (number, places), gone in zip(hits, dead, strict=True):
            stays = ~gone | ~lives[places]
            lives[places[stays]] = True  # the first group of a key without a row is its only one
            if stays.any():
                kept[partition].append((number, places[stays]))
    return kept


def _several(hits: list[tuple[int, Numbers]]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """By place, whether more than one group has the key."""
    return np.bincount(np.concatenate([places for _, places in hits])) > 1
