"""Which columns of a Parquet file a dictionary pays for."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

_FIRST_LOOK = 1024
_SECOND_LOOK = 4096
_REPEATING = 0.5
_UNIQUE = 0.9
"""Of the first look: beyond this share of distinct values the second can't come down to the one that repeats."""


def repeating_columns(rows: pa.RecordBatch | pa.Table) -> list[str]:
    """Flat columns whose values repeat often enough, in a sample of the first rows, that a dictionary pays.

    Parquet's Java writer decides likewise, by its first page.
    """
    flat = [
        field.name
        for field in rows.schema
        if not pa.types.is_nested(field.type) and not pa.types.is_boolean(field.type)
    ]
    first = _distinct(rows, flat, _FIRST_LOOK)
    unsure = [name for name, share in first.items() if _REPEATING < share <= _UNIQUE]
    shares = {**first, **_distinct(rows, unsure, _SECOND_LOOK)}
    return [name for name in flat if shares[name] <= _REPEATING]


def _distinct(rows: pa.RecordBatch | pa.Table, names: Collection[str], look: int) -> dict[str, float]:
    """The share of distinct values in the first ``look`` rows, by column."""
    sample = rows.slice(0, look)
    return {name: pc.count_distinct(sample.column(name)).as_py() / max(sample.num_rows, 1) for name in names}
