"""Checksums, index keys, compressed forms and messages, by literal examples."""

from __future__ import annotations

import random
import struct
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.hfile.blocks import HEAD_SIZE, decode_block
from spark_jobs.core.files.hfile.cells import decode_cells
from spark_jobs.core.files.hfile.checksum import crc32c_of_chunks
from spark_jobs.core.files.hfile.compression import Compression, compress, decompress
from spark_jobs.core.files.hfile.format import BlockKind
from spark_jobs.core.files.hfile.index import Place, decode_root, encode_root, key_between, prefix_ranges
from spark_jobs.core.files.hfile.protobuf import decode_message, encode_message, read_varint, write_varint

pytestmark = pytest.mark.unit


def slow_crc32c(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),  # this and the following: RFC 3720, B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_crc32c(data: bytes, crc: int) -> None:
    assert crc32c_of_chunks(data, 16384).tolist() == [crc]


@given(st.binary(max_size=200), st.sampled_from([4, 16, 64]))
def test_crc32c_of_each_chunk(data: bytes, chunk: int) -> None:
    expected = [slow_crc32c(data[at : at + chunk]) for at in range(0, len(data), chunk)]
    assert crc32c_of_chunks(data, chunk).tolist() == expected


@pytest.mark.parametrize(
    ("last", "first", "row", "kind"),
    [
        (b"column-7", b"vendor", b"d", 255),
        (b"a-000277", b"a-000278", b"a-000278", 255),
        (b"a-000199", b"a-000200", b"a-0002", 255),
        (b"ab", b"abc", b"ab\0", 255),
        (b"ab", b"ab", b"ab", 4),
    ],
)
def test_index_keys_are_as_short_as_hbase_makes_them(last: bytes, first: bytes, row: bytes, kind: int) -> None:
    key = key_between(last, first)
    assert key == len(row).to_bytes(2, "big") + row + b"\0\x7f" + b"\xff" * 7 + bytes([kind])


@pytest.mark.parametrize("length", [0, 1, 113, 127, 128, 255, 256, 65536])
def test_keys_of_the_index_have_their_length_as_hadoop_writes_it(length: int) -> None:
    entries = [(Place(7, 9), b"k" * length), (Place(16, 1), b"z")]
    node = decode_root(memoryview(encode_root(entries)), 2, keys_are_rows=True)
    assert (node.rows, node.places) == ([b"k" * length, b"z"], [Place(7, 9), Place(16, 1)])


def test_ranges_of_prefixes() -> None:
    assert prefix_ranges([b"b", b"a", b"ab", b"b"]) == [(b"a", b"b"), (b"b", b"c")]
    assert prefix_ranges([b"a\xff", b"\xff"]) == [(b"a\xff", b"b"), (b"\xff", None)]
    assert prefix_ranges([b"", b"a"]) == [(b"", None)]


@pytest.mark.parametrize("piece", [1 << 16, 100_000, 1 << 18])
@pytest.mark.parametrize(("compression", "codec"), [(Compression.SNAPPY, "snappy"), (Compression.LZ4, "lz4_raw")])
def test_pieces_of_hadoops_block_streams(compression: Compression, codec: str, piece: int) -> None:
    """Hadoop cuts by the size of its buffer, which the stream does not tell."""
    data = random.Random(2).randbytes(1000) * 400 + random.Random(3).randbytes(50_000)
    stream = len(data).to_bytes(4, "big")
    for at in range(0, len(data), piece):
        packed = pa.compress(data[at : at + piece], codec=codec, asbytes=True)
        stream += len(packed).to_bytes(4, "big") + packed
    assert decompress(memoryview(stream * 2), compression, 2 * len(data)) == data * 2
    assert decompress(memoryview(compress(data, compression)), compression, len(data)) == data


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_varints(value: int) -> None:
    data = write_varint(value)
    assert read_varint(memoryview(data), 0) == (value, len(data))


def test_messages() -> None:
    """By protobuf's own example: field 1 is 150, field 2 is the text testing."""
    data = encode_message([(1, 150), (2, b"testing")])
    assert data == bytes.fromhex("089601120774657374696e67")
    fixed = bytes.fromhex("1d01020304")
    assert list(decode_message(memoryview(data + fixed))) == [(1, 150), (2, b"testing")]


def block_with(kind: int, per_checksum: int, payload: bytes, checksums: list[int]) -> bytes:
    sizes = len(payload) + 4 * len(checksums), len(payload)
    head = b"DATABLK*" + struct.pack(">iiqBii", *sizes, -1, kind, per_checksum, HEAD_SIZE + len(payload))
    return head + payload + b"".join(value.to_bytes(4, "big") for value in checksums)


@pytest.mark.parametrize(("kind", "per_checksum"), [(0, 16384), (1, 16384), (1, 64), (2, 64), (2, 100)])
def test_each_kind_of_checksum(kind: int, per_checksum: int) -> None:
    payload = bytes(range(200))
    count = -(-(HEAD_SIZE + len(payload)) // per_checksum) if kind else 0
    covered = block_with(kind, per_checksum, payload, [0] * count)[: HEAD_SIZE + len(payload)]
    crc = {1: zlib.crc32, 2: slow_crc32c}.get(kind)
    pieces = [covered[at : at + per_checksum] for at in range(0, len(covered), per_checksum)]
    block = block_with(kind, per_checksum, payload, [crc(piece) for piece in pieces] if crc else [])
    assert decode_block(memoryview(block), BlockKind.DATA, Compression.NONE) == payload
    if crc:
        wrong = block[:-1] + bytes([block[-1] ^ 1])
        with pytest.raises(CorruptTableError, match="a checksum of an HFile block is wrong"):
            decode_block(memoryview(wrong), BlockKind.DATA, Compression.NONE)


def cell(row: bytes, value: bytes, behind: bytes, kind: int = 4) -> bytes:
    key = len(row).to_bytes(2, "big") + row + b"\0\x7f" + b"\xff" * 7 + bytes([kind])
    return struct.pack(">ii", len(key), len(value)) + key + value + behind


def test_cells_with_other_mvcc_numbers() -> None:
    """Hadoop's vlong: 5, 300, -1, 2**40."""
    numbers = [b"\x05", b"\x8e\x01\x2c", b"\xff", b"\x8a\x01\0\0\0\0\0"]
    payload = b"".join(cell(b"k%d" % i, b"v%d" % i, number) for i, number in enumerate(numbers))
    found = decode_cells(memoryview(payload), has_mvcc=True, mvcc_varies=True)
    assert list(found.pairs()) == [(b"k%d" % i, b"v%d" % i) for i in range(4)]


def test_cells_without_mvcc_numbers() -> None:
    payload = cell(b"a", b"", b"") + cell(b"b", b"2", b"")
    found = decode_cells(memoryview(payload), has_mvcc=False, mvcc_varies=False)
    assert list(found.pairs()) == [(b"a", b""), (b"b", b"2")]


def test_cells_that_delete_are_refused() -> None:
    payload = cell(b"a", b"", b"\0", kind=8)
    with pytest.raises(UnsupportedTableError, match="cells that delete"):
        decode_cells(memoryview(payload), has_mvcc=True, mvcc_varies=False)
