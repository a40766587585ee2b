"""The table that real Hudi and we write, in turn or at once: its rows and the settings of its writes."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

Rows = dict[str, int]
"""The value of each key."""


def batch(keys: range, value: int) -> pa.Table:
    """One row for each key, in three partitions."""
    return pa.table(
        {
            "id": [f"k{key:03}" for key in keys],
            "p": [f"p{key % 3}" for key in keys],
            "value": pa.array([value] * len(keys), pa.int64()),
        }
    )


def options_of(table_type: str) -> Mapping[str, str]:
    """Of Hudi's writes."""
    return {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.precombine.field": "value",
    }


def rows_of(found: pa.Table) -> Rows:
    """No key is there twice."""
    assert found.num_rows == len(set(found["id"].to_pylist()))
    return dict(zip(found["id"].to_pylist(), found["value"].to_pylist(), strict=True))
