"""Reading HFiles by ranged reads: the tail once, then only the blocks that a question needs."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.hfile.blocks import HEAD_SIZE, block_size, decode_block
from spark_jobs.core.files.hfile.cells import NO_CELLS, CellBlock, Cells
from spark_jobs.core.files.hfile.format import TRAILER_SIZE, BlockKind, InfoKey, Trailer, decode_file_info
from spark_jobs.core.files.hfile.index import Node, Place, decode_node, decode_root, prefix_ranges
from spark_jobs.core.files.hfile.source import SeekableFile, Source, source_of

_TAIL_BYTES = 32 << 10
"""Read at once on opening: the trailer and, of most files, all that is loaded on opening."""
_JOINED_READ_BYTES = 8 << 20
_JOINED_GAP_BYTES = 64 << 10
_MAX_LEVELS = 16


class HFileReader:
    """An HFile of HBase's major version 3, as Hudi writes it (``HoodieAvroHFileWriter``), open for reading.

    ``entry_count`` is the number of cells, ``info`` the file info (in a metadata table's files ``schema``,
    ``minRecordKey``, ``maxRecordKey`` and more), ``trailer`` the rest that is known of the file.

    :param file: an open file (which stays the caller's), a :class:`Source`, or bytes.
    :param name: what messages call the file.
    :raises CorruptTableError: it is no HFile, or a damaged one; the methods raise it as well.
    :raises UnsupportedTableError: an encrypted or encoded file, one of another version, or compressed with LZO.
    """

    def __init__(self, file: Source | SeekableFile | bytes | memoryview, name: str = "an HFile") -> None:
        self._name = name
        self._source = source_of(file, name)
        with self._named():
            self._open()

    def _open(self) -> None:
        size = self._source.size
        if size < TRAILER_SIZE:
            raise CorruptTableError(f"{size} bytes are no HFile, whose trailer alone has {TRAILER_SIZE}")
        kept = min(size, _TAIL_BYTES)
        tail = self._source.read(size - kept, kept)
        trailer = self.trailer = Trailer.decode(tail[-TRAILER_SIZE:])
        if not 0 < trailer.index_levels <= _MAX_LEVELS:
            raise CorruptTableError(f"an index of {trailer.index_levels} levels")
        begin, end = trailer.load_on_open_offset, size - TRAILER_SIZE
        if not 0 <= begin <= trailer.file_info_offset < end:
            raise CorruptTableError(f"its trailer points at bytes {begin} and {trailer.file_info_offset} of {size}")
        loaded = (
            tail[begin - size + kept : -TRAILER_SIZE] if begin >= size - kept else self._source.read(begin, end - begin)
        )
        root, at = self._next_block(loaded, 0, BlockKind.ROOT_INDEX)
        meta, _ = self._next_block(loaded, at, BlockKind.ROOT_INDEX)
        info, _ = self._next_block(loaded, trailer.file_info_offset - begin, BlockKind.FILE_INFO)
        self._root = decode_root(root, trailer.data_index_count)
        self._metas = decode_root(meta, trailer.meta_index_count, keys_are_rows=True)
        self.info = decode_file_info(info)
        self.entry_count = trailer.entry_count
        self._nodes: dict[Place, Node] = {}
        self._block_of = self._cell_finder()

    def _next_block(self, data: memoryview, at: int, kind: BlockKind) -> tuple[memoryview, int]:
        if len(data) - at < HEAD_SIZE:
            raise CorruptTableError(f"its {kind.name} block is cut off")
        end = at + block_size(data[at:])
        if end > len(data):
            raise CorruptTableError(f"its {kind.name} block leads out of the file")
        return decode_block(data[at:end], kind, self.trailer.compression), end

    def _cell_finder(self) -> Callable[[memoryview], CellBlock]:
        encoding = self.info.get(InfoKey.BLOCK_ENCODING, b"NONE")
        if encoding != b"NONE":
            raise UnsupportedTableError(f"its blocks are encoded as {encoding.decode(errors='replace')}")
        if InfoKey.LONGEST_TAGS in self.info:
            raise UnsupportedTableError("its cells have tags, which Hudi does not write")
        has_mvcc = self._info_number(InfoKey.KEY_VALUE_VERSION, ">i") == 1
        varies = has_mvcc and self._info_number(InfoKey.NEWEST_MVCC, ">q") > 0
        return lambda payload: CellBlock.of(payload, has_mvcc=has_mvcc, mvcc_varies=varies)

    def _info_number(self, key: bytes, form: str) -> int:
        value = self.info.get(key)
        if value is None:
            return 0
        if len(value) != struct.calcsize(form):
            raise CorruptTableError(f"{key.decode()} in its file info has {len(value)} bytes")
        return int(struct.unpack(form, value)[0])

    def meta_block(self, name: str) -> bytes | None:
        """The content of a meta block (``bloomFilter`` in Hudi's base files), None where the file has none."""
        with self._named():
            key = name.encode()
            at = bisect_left(self._metas.rows, key)
            if at == len(self._metas.rows) or self._metas.rows[at] != key:
                return None
            place = self._metas.places[at]
            data = self._source.read(place.offset, place.size)
            return bytes(decode_block(data, BlockKind.META, self.trailer.compression))

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that the file has; of cells with the same key the first, as HBase's scanner has it.

        HBase's writer keeps the cells of one key in one block. Of a file that does not, it is the first in the last
        block that begins with the key: only that one is read.
        """
        return {key: value for cells in self.lookup(keys) for key, value in reversed(list(cells.pairs()))}

    def lookup(self, keys: Iterable[bytes]) -> Iterator[Cells]:
        """The cells of those keys that the file has, in ascending order; reads only the blocks that can have them."""
        with self._named():
            wanted = sorted(set(keys))
            places, groups = [], []
            for place, group in self._locate(self._root, self.trailer.index_levels, wanted):
                places.append(place)
                groups.append(group)
            for payload, group in zip(self._data(places), groups, strict=True):
                yield self._block_of(payload).lookup(group)

    def prefixes(self, prefixes: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """All cells whose key begins with one of the prefixes, in ascending order, each once."""
        for cells in self.lookup_prefixes(prefixes):
            yield from cells.pairs()

    def lookup_prefixes(self, prefixes: Iterable[bytes]) -> Iterator[Cells]:
        """The same in arrays."""
        with self._named():
            ranges = prefix_ranges(prefixes)
            for payload in self._data(self._places(ranges)):
                cells = self._block_of(payload).cells()
                rows = cells.keys.to_pylist()
                for low, high in ranges:
                    begin = bisect_left(rows, low)
                    end = len(rows) if high is None else bisect_left(rows, high)
                    if begin < end:
                        yield Cells(cells.keys.slice(begin, end - begin), cells.values.slice(begin, end - begin))

    def entries(self) -> Iterator[tuple[bytes, bytes]]:
        """All cells in their order."""
        for cells in self.arrays():
            yield from cells.pairs()

    def arrays(self) -> Iterator[Cells]:
        """All cells in their order, one batch for each data block."""
        with self._named():
            count = 0
            for payload in self._data(self._places([(b"", None)])):
                cells = self._block_of(payload).cells()
                count += len(cells.keys)
                yield cells
            if count != self.entry_count:
                raise CorruptTableError(f"it has {count} cells where its trailer says {self.entry_count}")

    def read_all(self) -> Cells:
        """All cells at once."""
        batches = list(self.arrays())
        if not batches:
            return NO_CELLS
        return Cells(
            pa.concat_arrays([batch.keys for batch in batches]), pa.concat_arrays([batch.values for batch in batches])
        )

    def _locate(self, node: Node, level: int, keys: list[bytes]) -> Iterator[tuple[Place, list[bytes]]]:
        """The data blocks that can have the keys, which ascend, each with those keys."""
        at = bisect_left(keys, node.rows[0]) if node.rows else len(keys)
        while at < len(keys):
            child = node.child_of(keys[at])
            last = child + 1 == len(node.rows)
            end = len(keys) if last else bisect_left(keys, node.rows[child + 1], at)
            place, group = node.places[child], keys[at:end]
            at = end
            if level == 1:
                yield place, group
            else:
                yield from self._locate(self._node(place, level - 1), level - 1, group)

    def _places(self, ranges: Sequence[tuple[bytes, bytes | None]]) -> Iterator[Place]:
        """The data blocks that can have rows of the ranges, each once."""
        end = 0
        for place in self._within(self._root, self.trailer.index_levels, ranges):
            if place.offset < end:
                raise CorruptTableError("its index does not lead through the file in order")
            end = place.offset + max(place.size, 1)
            yield place

    def _within(self, node: Node, level: int, ranges: Sequence[tuple[bytes, bytes | None]]) -> Iterator[Place]:
        children = dict.fromkeys(child for low, high in ranges for child in node.children_within(low, high))
        for child in children:
            place = node.places[child]
            if level == 1:
                yield place
            else:
                yield from self._within(self._node(place, level - 1), level - 1, ranges)

    def _node(self, place: Place, level: int) -> Node:
        node = self._nodes.get(place)
        if node is None:
            kind = BlockKind.LEAF_INDEX if level == 1 else BlockKind.INTERMEDIATE_INDEX
            data = self._source.read(place.offset, place.size)
            node = self._nodes[place] = decode_node(decode_block(data, kind, self.trailer.compression))
        return node

    def _data(self, places: Iterable[Place]) -> Iterator[memoryview]:
        """The payloads of data blocks; neighbours are read together."""
        for run in _runs(places):
            begin, end = run[0].offset, run[-1].offset + run[-1].size
            data = self._source.read(begin, end - begin)
            for place in run:
                block = data[place.offset - begin : place.offset - begin + place.size]
                yield decode_block(block, BlockKind.DATA, self.trailer.compression)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (CorruptTableError, UnsupportedTableError) as error:
            raise type(error)(
                f"{self._name} is not readable: {error.what}", todo=error.todo, file=self._name
            ) from error


def _runs(places: Iterable[Place]) -> Iterator[list[Place]]:
    run: list[Place] = []
    for place in places:
        if place.size < 0:
            raise CorruptTableError(f"its index has a block of {place.size} bytes")
        if run:
            last_end = run[-1].offset + run[-1].size
            together = place.offset + place.size - run[0].offset
            if not 0 <= place.offset - last_end <= _JOINED_GAP_BYTES or together > _JOINED_READ_BYTES:
                yield run
                run = []
        run.append(place)
    if run:
        yield run
