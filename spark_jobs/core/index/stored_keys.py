"""The record keys of files and slices, and whether a file holds a key (Hudi: HoodieKeyLookupHandle)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_jobs.core.files.base_file import MAX_KEY_FOOTER, MIN_KEY_FOOTER, footer_index, open_base_file
from spark_jobs.core.files.bloom import BloomFilter
from spark_jobs.core.keygen.keys import record_keys
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.storage import Storage
from spark_jobs.core.view.file_slice import FileSlice


def slice_keys(reader: SliceReader, one: FileSlice) -> Iterator[pa.Array[Any]]:
    """The keys of a slice, logs merged, batch by batch."""
    spec = reader.virtual_keys
    if spec is None:
        for batch in reader.read(one, [RECORD_KEY]):
            yield batch.column(0)
        return
    columns = list(dict.fromkeys(name.split(".")[0] for name in spec.record_key_fields))
    for batch in reader.read(one, columns):
        yield record_keys(batch, spec)


def base_and_slice_keys(reader: SliceReader, one: FileSlice) -> Iterator[pa.Array[Any]]:
    """The keys of a slice, and those that its base file alone has, whose records the logs removed; some twice."""
    if one.base_file is not None and one.log_files:
        yield from slice_keys(reader, replace(one, log_files=()))
    yield from slice_keys(reader, one)


def found_in_base(reader: SliceReader, one: FileSlice, keys: pa.Array[Any]) -> pa.Array[Any]:
    """Those of ``keys`` that the base file of a slice holds; its key column alone is read."""
    found = [pc.filter(some, pc.is_in(some, value_set=keys)) for some in slice_keys(reader, replace(one, log_files=()))]
    return pa.concat_arrays([part.cast(pa.string()) for part in found]) if found else pa.array([], pa.string())


def footer_filter(storage: Storage, path: str) -> BloomFilter | None:
    """The bloom filter in the footer of a base file; None where it has none."""
    return footer_index(open_base_file(storage, path)).bloom


def possible(bloom: BloomFilter | None, keys: pa.Array[Any]) -> pa.Array[Any]:
    """Those of ``keys`` that a bloom filter lets through; all where there is none."""
    return keys if bloom is None else keys.filter(pa.array(bloom.contains(keys)))


def footer_range(storage: Storage, path: str) -> tuple[str, str] | None:
    """Smallest and greatest key of a base file, as its writer left them in the footer; None where it did not.

    :raises CorruptTableError: it is no Parquet file.
    """
    file: pq.ParquetFile = open_base_file(storage, path)
    raw = file.metadata.metadata or {}
    low, high = raw.get(MIN_KEY_FOOTER.encode()), raw.get(MAX_KEY_FOOTER.encode())
    return None if low is None or high is None else (low.decode(), high.decode())
