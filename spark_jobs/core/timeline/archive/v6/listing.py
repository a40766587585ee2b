"""What the entries of archive files are, decoded by columns for many blocks at once.

An entry is one of ten in its block, and tells in four of its fields what it is; the plans and metadata in front of
those, which only a reader of the whole entry wants, are what takes the time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from spark_jobs.core.errors import HudiError
from spark_jobs.core.files.avro_columns import WriterSchema, decode_between, record_bounds
from spark_jobs.core.files.log_block import CONTENT_VERSION, LogBlock
from spark_jobs.core.timeline.archive.v6.files import CONTENT_HEAD, LISTED, Entry, EntryPlace, entries_of, schema_of

_CHUNK_BYTES = 16 << 20
_LISTED = pa.schema([(name, pa.string()) for name in LISTED])

Read = tuple[LogBlock, bytes]
"""A block and its content."""


def listed_entries(blocks: Iterator[Read], path: str) -> Iterator[tuple[Entry, EntryPlace]]:
    """When, what and how far each entry is, with its place, in the order of the file.

    Where ``blocks`` ends in an error, the entries before it come first.

    :raises CorruptTableError: the content of a block is not entries.
    """
    chunk: list[Read] = []
    size = 0
    failure: HudiError | None = None
    while failure is None:
        try:
            block, content = next(blocks)
        except StopIteration:
            break
        except HudiError as error:
            failure = error
            break
        if chunk and (size + len(content) > _CHUNK_BYTES or block.schema_json != chunk[0][0].schema_json):
            yield from _entries(chunk, path)
            chunk, size = [], 0
        chunk.append((block, content))
        size += len(content)
    yield from _entries(chunk, path)
    if failure is not None:
        raise failure


def _entries(chunk: Sequence[Read], path: str) -> Iterator[tuple[Entry, EntryPlace]]:
    found = _by_columns(chunk, path) if chunk else []
    if found is not None:
        yield from found
        return
    for block, content in chunk:  # one by one, which takes more than columns do, and names the block that is damaged
        yield from entries_of(block, path, content)


def _by_columns(chunk: Sequence[Read], path: str) -> list[tuple[Entry, EntryPlace]] | None:
    """The entries of blocks of one schema; None where they have to be read one by one."""
    try:
        schema = schema_of(chunk[0][0])
        heads = [CONTENT_HEAD.unpack_from(content) for _, content in chunk]
        if not all(1 <= version <= CONTENT_VERSION and count >= 0 for version, count in heads):
            return None
        counts = np.array([count for _, count in heads], dtype=np.int64)
        records = memoryview(b"".join(content[CONTENT_HEAD.size :] for _, content in chunk))
        starts, ends = record_bounds(records, int(counts.sum()))
        sizes = np.array([len(content) - CONTENT_HEAD.size for _, content in chunk], dtype=np.int64)
        if not np.array_equal(np.append(0, ends)[np.cumsum(counts)], np.cumsum(sizes)):
            return None  # some block holds other records than its count says
        decoded = decode_between(records, starts, ends, _written(schema), _LISTED)
    except Exception:  # damage, or a schema beyond columns: who reads each block tells what is wrong, if anything
        return None
    content_starts = np.array([block.content_start + CONTENT_HEAD.size for block, _ in chunk], dtype=np.int64)
    offsets = starts + np.repeat(content_starts - (np.cumsum(sizes) - sizes), counts)
    columns = [decoded.column(name).to_pylist() for name in LISTED]
    rows = zip(offsets.tolist(), (ends - starts).tolist(), zip(*columns, strict=True), strict=True)
    return [
        (dict(zip(LISTED, values, strict=True)), EntryPlace(path=path, offset=offset, length=length, schema=schema))
        for offset, length, values in rows
    ]


@lru_cache(maxsize=16)
def _written(schema: str) -> WriterSchema:
    return WriterSchema.of(json.loads(schema))
