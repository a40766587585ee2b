"""Rows that go where there is room, whether the table has their keys or not: an insert that looks nothing up.

Of a row only its partition and a hash of its key come to the driver, found by tasks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spark_jobs.core.handles.context import TaskScope
from spark_jobs.core.metadata_table.layout import java_hashes
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.engine.protocol import Engine
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.source import RowRange
from spark_jobs.write.direct.tagged import NEW, Numbers, PlacedRows, rows_by_name

Codes = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint32]


def place_unseen(engine: Engine, keyed: KeyedSource, tasks: int) -> dict[str, PlacedRows]:
    """All rows of a source as new ones, by partition path; rows of one key have one place, as a few others may."""

    def work(share: RowRange, scope: TaskScope) -> tuple[list[str], Codes, Hashes]:
        keys = keyed.keys(share)
        paths = keys.column(PARTITION_PATH).combine_chunks()
        hashes = [java_hashes(chunk.cast("large_binary")) for chunk in keys.column(RECORD_KEY).chunks]
        return paths.dictionary.to_pylist(), np.asarray(paths.indices, np.int32), np.concatenate(hashes)

    found = engine.run_each(keyed.source.aligned_shares(tasks), work)
    names = {name: number for number, name in enumerate(dict.fromkeys(name for some, _, _ in found for name in some))}
    codes = np.concatenate(
        [np.zeros(0, np.int32), *(np.array([names[name] for name in some], np.int32)[own] for some, own, _ in found)]
    )
    hashes = np.concatenate([np.zeros(0, np.uint32), *(some for _, _, some in found)])
    return {path: _new(rows, hashes) for path, rows in rows_by_name(codes, list(names))}


def _new(rows: Numbers, hashes: Hashes) -> PlacedRows:
    _, first, key = np.unique(hashes[rows], return_index=True, return_inverse=True)
    return PlacedRows(rows=rows, buckets=np.full(len(rows), NEW, np.int64), places=first[key])
