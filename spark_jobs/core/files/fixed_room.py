"""The room that values of a fixed size take in memory where they are null.

Arrow keeps the whole size for each, the file a byte or less, and the size is what a schema in the file says.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.errors import UnsupportedTableError
from spark_jobs.core.schema.avro import arrow_type_of
from spark_jobs.core.schema.avro_names import AvroType, split_nullable
from spark_jobs.core.schema.fixed import fixed_bytes

_FREE = 64 << 10
_PER_BYTE = 256
"""So many bytes of nulls are granted for each byte that is stored: a column of hashes that is nearly always null has
less than a tenth of that.
"""

_LONG_VALUE = 1 << 10
"""Bytes; many equal ones that are shorter Parquet may well have packed to next to nothing."""


def refuse_giants(metadata: pq.FileMetaData, schema: pa.Schema, stored: int) -> None:
    """Of a Parquet file of ``stored`` bytes; Arrow makes room for a column of a whole row group.

    :raises UnsupportedTableError: null values of a fixed size would take too much memory.
    """
    giants = [kind for kind in schema.types if fixed_bytes([kind]) > _LONG_VALUE]
    if giants:
        rows = max((metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)), default=0)
        FixedRoom(stored).take(rows, giants)


class FixedRoom:
    """How much is left for nulls of what was read from ``stored`` bytes."""

    def __init__(self, stored: int) -> None:
        self._stored = stored
        self._left = _FREE + _PER_BYTE * stored

    def take(self, rows: int, kinds: Iterable[pa.DataType]) -> None:
        """For null columns of some rows.

        :raises UnsupportedTableError: there is no more.
        """
        self._left -= rows * fixed_bytes(kinds) if rows else 0
        if self._left < 0:
            raise UnsupportedTableError(
                f"null values of a fixed size would take more than {_PER_BYTE} times the {self._stored} bytes that are "
                "stored"
            )

    def take_for(self, avro: AvroType, values: Iterable[Any]) -> None:
        """For the nulls among Python values of a resolved type.

        :raises UnsupportedTableError: as above.
        """
        kind, _ = split_nullable(avro)
        name = kind if isinstance(kind, str) else kind["type"]
        if name not in ("record", "fixed", "array", "map"):
            return
        given = list(values)
        there = [value for value in given if value is not None]
        if name in ("record", "fixed"):
            self.take(len(given) - len(there), [arrow_type_of(kind)])
        if name == "array":
            self.take_for(kind["items"], (item for value in there for item in value))
        elif name == "map":
            self.take_for(kind["values"], (item for value in there for item in value.values()))
        for field in kind.get("fields", ()):
            self.take_for(field["type"], (value[field["name"]] for value in there))
