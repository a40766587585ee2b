"""Our reader, as a user without a JVM calls it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from spark_jobs.core.table import HudiTable


def read(path: Path, query: str = "snapshot") -> pa.Table:
    """A query's rows, meta fields first, by the reader that needs no JVM."""
    rows = HudiTable.open(str(path)).scan(query=query).to_arrow()
    assert isinstance(rows, pa.Table)
    return rows


def slices(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The latest slices by partition, in the form of ``RealHudi.slices``."""
    found: dict[str, list[dict[str, Any]]] = {}
    table = HudiTable.open(str(path))
    for partition in table.partitions():
        found[partition] = sorted(
            (
                {
                    "file_id": each.file_id,
                    "base_instant": each.base_instant,
                    "base": str(each.base_file.name) if each.base_file else None,
                    "logs": [str(log.name) for log in each.log_files],
                }
                for each in table.file_slices(partition=partition)
            ),
            key=lambda one: str(one["file_id"]),
        )
    return found
