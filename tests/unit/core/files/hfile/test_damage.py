"""Damaged, cut off and hostile files: an error of ours, and soon."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError, HudiError, UnsupportedTableError
from spark_jobs.core.files.hfile.blocks import HEAD_SIZE, decode_block, encode_block
from spark_jobs.core.files.hfile.cells import decode_cells
from spark_jobs.core.files.hfile.compression import Compression, decompress
from spark_jobs.core.files.hfile.format import BlockKind, Trailer, decode_file_info, encode_file_info
from spark_jobs.core.files.hfile.index import Place, decode_node, decode_root
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.hfile.writer import write_hfile
from tests.nightly import examples

pytestmark = pytest.mark.unit

ENTRIES = [(b"key-%05d" % i, b"value" * (i % 9)) for i in range(300)]
FILE = write_hfile(ENTRIES, block_size=1000, meta={"bloomFilter": b"bits"}, compression=Compression.NONE)


def use(data: bytes) -> None:
    reader = HFileReader(data, "t.hfile")
    list(reader.entries())
    reader.get([ENTRIES[5][0], b"x"])
    list(reader.prefixes([b"key-000"]))
    reader.meta_block("bloomFilter")


@settings(deadline=None, max_examples=examples(150))
@given(st.integers(0, len(FILE) - 1))
def test_cut_off(length: int) -> None:
    with pytest.raises(CorruptTableError, match=r"t\.hfile is not readable"):
        use(FILE[:length])


@settings(deadline=None, max_examples=examples(300))
@given(st.integers(0, len(FILE) - 1), st.integers(1, 255))
def test_one_wrong_byte(place: int, change: int) -> None:
    damaged = bytearray(FILE)
    damaged[place] ^= change
    with suppress(HudiError):
        use(bytes(damaged))
    if place < HFileReader(FILE).trailer.last_data_offset:
        with pytest.raises(CorruptTableError):
            use(bytes(damaged))


def test_a_wrong_checksum_is_named() -> None:
    damaged = bytearray(FILE)
    damaged[HEAD_SIZE + 30] ^= 1
    with pytest.raises(CorruptTableError, match=r"t\.hfile is not readable: a checksum of an HFile block is wrong"):
        use(bytes(damaged))


PARSERS: list[Callable[[bytes], object]] = [
    use,
    lambda data: decode_cells(memoryview(data), has_mvcc=True, mvcc_varies=False),
    lambda data: decode_cells(memoryview(data), has_mvcc=True, mvcc_varies=True),
    lambda data: decode_root(memoryview(data), 1 << 60),
    lambda data: decode_node(memoryview(data)),
    lambda data: decode_file_info(memoryview(data)),
    lambda data: Trailer.decode(memoryview(data)),
    lambda data: decode_block(memoryview(data), BlockKind.DATA, Compression.GZ),
    *(lambda data, one=one: decompress(memoryview(data), one, 1 << 30) for one in Compression if one),
]


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(PARSERS), st.binary(max_size=300), st.integers(0, 3))
def test_any_bytes(parse: Callable[[bytes], object], data: bytes, form: int) -> None:
    heads = [b"", bytes(8) + struct.pack(">i", 2), b"PBUF", b'TRABLK"$']
    padding = 4096 if form == 3 else 0
    with suppress(HudiError):
        parse((heads[form] + data).ljust(padding, b"\0"))


@settings(deadline=None, max_examples=examples(200))
@given(st.data())
def test_cells_with_some_wrong_bytes(data: st.DataObject) -> None:
    place = HFileReader(FILE)._root.places[0]
    payload = bytearray(decode_block(memoryview(FILE)[: place.size], BlockKind.DATA, Compression.NONE))
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    with suppress(HudiError):
        decode_cells(memoryview(payload), has_mvcc=True, mvcc_varies=False)


@pytest.mark.parametrize("compression", [one for one in Compression if one not in (Compression.LZO, Compression.NONE)])
def test_a_size_that_is_not_there_takes_no_memory(compression: Compression) -> None:
    packed = encode_block(BlockKind.DATA, bytes(1000), compression, -1).data[HEAD_SIZE:-4]
    tracemalloc.start()
    with pytest.raises(CorruptTableError):
        decompress(memoryview(packed), compression, (1 << 31) - 1)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_an_index_that_leads_in_circles() -> None:
    """A deep index whose root leads to itself, and one whose leaves all lead to the same block."""
    place = Place(0, 0)
    data = block_file(entries=1000, levels=16, place=place)
    with pytest.raises(CorruptTableError):
        use(data)
    size = len(encode_block(BlockKind.DATA, b"", Compression.NONE, -1).data)
    with pytest.raises(CorruptTableError, match="does not lead through the file in order"):
        list(HFileReader(block_file(entries=1000, levels=1, place=Place(0, size))).entries())


def block_file(entries: int, levels: int, place: Place) -> bytes:
    """A file of one empty data block, with an index of that many entries for one place."""
    first = encode_block(BlockKind.DATA, b"", Compression.NONE, -1).data
    index = b"".join(struct.pack(">qib", *place, 14) + b"\0\x04%04d" % i + bytes(8) for i in range(entries))
    root = encode_block(BlockKind.ROOT_INDEX, index, Compression.NONE, -1).data
    metas = encode_block(BlockKind.ROOT_INDEX, b"", Compression.NONE, -1).data
    info = encode_block(BlockKind.FILE_INFO, encode_file_info({}), Compression.NONE, -1).data
    trailer = Trailer(
        file_info_offset=len(first + root + metas),
        load_on_open_offset=len(first),
        uncompressed_index_size=0,
        total_uncompressed_bytes=0,
        data_index_count=entries,
        meta_index_count=0,
        entry_count=0,
        index_levels=levels,
        first_data_offset=0,
        last_data_offset=0,
        comparator="",
        compression=Compression.NONE,
    )
    return first + root + metas + info + trailer.encode()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"\x03\0\0\x03", b"\x03\0\0\x02", "major version 2"),
        (b"`\x02\0\0", b"`\x00\0\0", "compressed with LZO"),
        (b"`\x02\0\0", b"`\x2a\0\0", "unknown compression 42"),
    ],
)
def test_what_is_not_read_is_named(old: bytes, new: bytes, message: str) -> None:
    before, _, behind = FILE.rpartition(old)
    with pytest.raises(UnsupportedTableError, match=rf"t\.hfile is not readable: .*{message}"):
        use(before + new + behind)


@pytest.mark.parametrize(
    ("info", "message"),
    [({b"DATA_BLOCK_ENCODING": b"FAST_DIFF"}, "encoded as FAST_DIFF"), ({b"hfile.MAX_TAGS_LEN": b"\0\0\0\0"}, "tags")],
)
def test_forms_of_cells_that_are_not_read(info: dict[bytes, bytes], message: str) -> None:
    with pytest.raises(UnsupportedTableError, match=message):
        HFileReader(write_hfile(ENTRIES, file_info=info))


def test_a_count_that_is_wrong() -> None:
    trailer = HFileReader(FILE).trailer
    fields = {name: getattr(trailer, name) for name in Trailer.__dataclass_fields__}
    data = FILE[:-4096] + Trailer(**{**fields, "entry_count": 299}).encode()
    with pytest.raises(CorruptTableError, match="it has 300 cells where its trailer says 299"):
        use(data)
