"""Messages in the binary form of Avro to columns, by the decoder of log blocks, which also tells what is no record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.avro_columns import decode_between

_I64 = npt.NDArray[np.int64]


def decode_values(values: pa.Array[Any], avro: Mapping[str, Any], schema: pa.Schema, mark: str) -> Any:
    """A struct for each value: the fields of ``schema``, and ``mark``, a text where the value is null or no record of
    ``avro``; the fields are null there.

    A value is one record without a container or a header.
    """
    array: Any = values.cast(pa.large_binary())
    count = len(array)
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64)[array.offset : array.offset + count + 1]
    content = array.buffers()[2]
    rows = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False)).astype(np.int64)
    starts, ends = offsets[:-1][rows], offsets[1:][rows]
    data = memoryview(content if content is not None else b"")
    parts = list(_readable(data, starts, ends, rows, avro, schema))
    place = np.full(count, -1, dtype=np.int64)
    good = np.concatenate([numbers for numbers, _ in parts]) if parts else np.empty(0, dtype=np.int64)
    place[good] = np.arange(len(good))
    bad = place < 0
    table = pa.concat_tables([one for _, one in parts]) if parts else schema.empty_table()
    taken = table.take(pa.array(place, mask=bad))
    marks = pa.array(np.where(bad, "no record", ""), pa.string(), mask=~bad)
    columns = [*(taken.column(number).combine_chunks() for number in range(len(schema))), marks]
    return pa.StructArray.from_arrays(columns, fields=[*schema, pa.field(mark, pa.string())])


def _readable(
    data: memoryview, starts: _I64, ends: _I64, rows: _I64, avro: Mapping[str, Any], schema: pa.Schema
) -> Iterator[tuple[_I64, pa.Table]]:
    """The numbers of the rows that are records, in their order, with them; by halves where some are none."""
    if not len(rows):
        return
    try:
        yield rows, decode_between(data, starts, ends, avro, schema)
    except CorruptTableError:
        if len(rows) > 1:
            half = len(rows) // 2
            yield from _readable(data, starts[:half], ends[:half], rows[:half], avro, schema)
            yield from _readable(data, starts[half:], ends[half:], rows[half:], avro, schema)
