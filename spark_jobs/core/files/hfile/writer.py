"""Writing HFiles as Hudi 0.15 does, within what Hudi's native reader takes: one index level, cells without MVCC."""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.files.hfile.blocks import encode_block
from spark_jobs.core.files.hfile.cells import Cells, encode_cells
from spark_jobs.core.files.hfile.compression import Compression
from spark_jobs.core.files.hfile.format import (
    HUDI_COMPARATOR,
    KEY_SUFFIX,
    ROW_LENGTH,
    TRAILER_SIZE,
    BlockKind,
    InfoKey,
    Trailer,
    encode_file_info,
)
from spark_jobs.core.files.hfile.index import Place, encode_root, first_key, key_between

DEFAULT_BLOCK_SIZE = 1 << 20
"""Hudi's ``hoodie.hfile.block.size``."""
_PAIRS_AT_ONCE = 16384
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")


class Sink(Protocol):
    """Takes the bytes of a file in order; a ``pa.NativeFile`` is one."""

    def write(self, data: bytes, /) -> object: ...


class HFileWriter:
    """Writes one HFile (HBase: ``HFileWriterImpl``); the sink stays the caller's to close.

    :param block_size: a data block ends with the cell that brings its raw bytes to this, or with the last of those
        that have its key: readers look for a key in one block.
    :param meta: meta blocks by name.
    :param file_info: entries besides those that every HFile has (``schema``, ``minRecordKey``, ...).
    :param comparator: the class by which HBase orders the keys; all that Hudi has order unsigned bytes.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        compression: Compression = Compression.GZ,
        block_size: int = DEFAULT_BLOCK_SIZE,
        meta: Mapping[str, bytes] | None = None,
        file_info: Mapping[bytes, bytes] | None = None,
        comparator: str = HUDI_COMPARATOR,
    ) -> None:
        self._sink = sink
        self._compression = compression
        self._block_size = block_size
        self._meta = dict(meta or {})
        self._file_info = dict(file_info or {})
        self._comparator = comparator
        self._at = 0
        self._uncompressed = 0
        self._index: list[tuple[Place, bytes]] = []
        self._pending: list[memoryview] = []
        self._pending_size = 0
        self._first_row = b""
        self._last_row: bytes | None = None
        self._last_row_of_block: bytes | None = None
        self._count = self._key_bytes = self._value_bytes = 0

    def append(self, cells: Cells) -> None:
        """Add cells, whose keys ascend (as unsigned bytes) and are none below those before them.

        :raises BadRecordError: they are not so, or a key has more than 32,767 bytes.
        """
        keys = cells.keys.cast(pa.large_binary())
        values = cells.values.cast(pa.large_binary())
        if len(keys) == 0:
            return
        encoded = encode_cells(Cells(keys, values), after=self._last_row)
        offsets = np.frombuffer(encoded.buffers()[1], dtype=np.int64)[
            encoded.offset : encoded.offset + len(encoded) + 1
        ]
        data = memoryview(encoded.buffers()[2])
        at = 0
        while at < len(keys):
            row = keys[at].as_py()
            room = self._block_size - self._pending_size
            if room <= 0 and row != self._last_row:
                self._finish_block()
                room = self._block_size
            if not self._pending:
                self._first_row = row
            stop = min(max(int(np.searchsorted(offsets[1:], offsets[at] + room)), at) + 1, len(keys))
            self._pending.append(data[offsets[at] : offsets[stop]])
            self._pending_size += int(offsets[stop] - offsets[at])
            self._last_row = keys[stop - 1].as_py()
            at = stop
        self._count += len(keys)
        self._key_bytes += pc.sum(pc.binary_length(keys)).as_py() + len(keys) * (ROW_LENGTH.size + len(KEY_SUFFIX))
        self._value_bytes += pc.sum(pc.binary_length(values)).as_py()

    def close(self) -> int:
        """Write what follows the data; the size of the file in bytes."""
        if self._pending:
            self._finish_block()
        metas: list[tuple[Place, bytes]] = []
        for name in sorted(self._meta):
            metas.append((self._write(BlockKind.META, self._meta[name], _last_offset(metas)), name.encode()))
        index = encode_root(self._index)
        root = self._write(BlockKind.ROOT_INDEX, index, -1, counted=False)
        self._write(BlockKind.ROOT_INDEX, encode_root(metas), root.offset)
        info = self._write(BlockKind.FILE_INFO, encode_file_info(self._info()), -1)
        trailer = Trailer(
            file_info_offset=info.offset,
            load_on_open_offset=root.offset,
            uncompressed_index_size=len(index),
            total_uncompressed_bytes=self._uncompressed + TRAILER_SIZE,
            data_index_count=len(self._index),
            meta_index_count=len(metas),
            entry_count=self._count,
            index_levels=1,
            first_data_offset=self._index[0][0].offset if self._index else -1,
            last_data_offset=_last_offset(self._index),
            comparator=self._comparator,
            compression=self._compression,
        )
        self._sink.write(trailer.encode())
        self._at += TRAILER_SIZE
        return self._at

    def _finish_block(self) -> None:
        if self._last_row_of_block is None:
            key = first_key(self._first_row)
        else:
            key = key_between(self._last_row_of_block, self._first_row)
        place = self._write(BlockKind.DATA, b"".join(self._pending), _last_offset(self._index))
        self._index.append((place, key))
        self._last_row_of_block = self._last_row
        self._pending, self._pending_size = [], 0

    def _write(self, kind: BlockKind, payload: bytes, previous: int, *, counted: bool = True) -> Place:
        block = encode_block(kind, payload, self._compression, previous)
        self._sink.write(block.data)
        place = Place(self._at, len(block.data))
        self._at += len(block.data)
        if counted:  # HBase leaves the root of the data index out of its sum
            self._uncompressed += block.uncompressed_size
        return place

    def _info(self) -> dict[bytes, bytes]:
        count = max(self._count, 1)
        own = {
            InfoKey.KEY_VALUE_VERSION: _INT.pack(1),
            InfoKey.NEWEST_MVCC: _LONG.pack(0),
            InfoKey.CREATED: _LONG.pack(0),
            InfoKey.AVERAGE_KEY_LENGTH: _INT.pack(self._key_bytes // count),
            InfoKey.AVERAGE_VALUE_LENGTH: _INT.pack(self._value_bytes // count),
        }
        if self._last_row is not None:
            own[InfoKey.LAST_KEY] = first_key(self._last_row)
        return {**self._file_info, **own}


def write_hfile(
    entries: Cells | Iterable[tuple[bytes, bytes]],
    *,
    compression: Compression = Compression.GZ,
    block_size: int = DEFAULT_BLOCK_SIZE,
    meta: Mapping[str, bytes] | None = None,
    file_info: Mapping[bytes, bytes] | None = None,
    comparator: str = HUDI_COMPARATOR,
) -> bytes:
    """A whole HFile in memory; see :class:`HFileWriter`.

    :raises BadRecordError: keys that do not ascend as unsigned bytes, or are longer than 32,767 bytes.
    """
    sink = io.BytesIO()
    writer = HFileWriter(
        sink, compression=compression, block_size=block_size, meta=meta, file_info=file_info, comparator=comparator
    )
    for cells in [entries] if isinstance(entries, Cells) else _batches(entries):
        writer.append(cells)
    writer.close()
    return sink.getvalue()


def _batches(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[Cells]:
    left = iter(pairs)
    while part := list(itertools.islice(left, _PAIRS_AT_ONCE)):
        keys, values = zip(*part, strict=True)
        yield Cells(pa.array(keys, pa.large_binary()), pa.array(values, pa.large_binary()))


def _last_offset(blocks: list[tuple[Place, bytes]]) -> int:
    return blocks[-1][0].offset if blocks else -1
