"""What the footers of base files say of their keys, many at once."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from spark_jobs.core.files.base_file import MAX_KEY_FOOTER, MIN_KEY_FOOTER, column_chunks, open_base_file
from spark_jobs.core.index.ranges import KeyRange
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.storage import Storage, resolve
from spark_jobs.core.view.file_slice import FileSlice

_AT_ONCE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """The range of keys, and the bytes of the footer and of the key column (``key_bytes``) as stored."""

    low: str | None
    high: str | None
    bytes: int
    key_bytes: int

    def key_range(self, number: int) -> KeyRange:
        return KeyRange(number, self.low, self.high)


def read_footers(storage: Storage, base_path: str, slices: Mapping[int, FileSlice]) -> dict[int, Footer]:
    """The footers of the base files of slices; slices without one are left out.

    :raises CorruptTableError: a base file is no Parquet file.
    """
    paths = {
        number: resolve(base_path, one.base_file.relative_path)
        for number, one in slices.items()
        if one.base_file is not None
    }
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(paths, pool.map(lambda path: _read(storage, path), paths.values()), strict=True))


def _read(storage: Storage, path: str) -> Footer:
    file = open_base_file(storage, path)
    metadata: Any = file.metadata
    raw: Mapping[bytes, bytes] = metadata.metadata or {}
    low, high = raw.get(MIN_KEY_FOOTER.encode()), raw.get(MAX_KEY_FOOTER.encode())
    known = low is not None and high is not None
    return Footer(
        low=low.decode() if known and low is not None else None,
        high=high.decode() if known and high is not None else None,
        bytes=metadata.serialized_size,
        key_bytes=_key_bytes(file, path),
    )


def _key_bytes(file: pq.ParquetFile, path: str) -> int:
    """Bytes of the column of keys in all row groups; of all columns where keys have none."""
    own: int = sum(chunk.total_compressed_size for chunk in column_chunks(file, {RECORD_KEY}, path))
    every = [file.metadata.schema.column(place).path for place in range(file.metadata.num_columns)]
    return own or int(sum(chunk.total_compressed_size for chunk in column_chunks(file, every, path)))
