"""One block of an HFile: head, payload, checksums (docs/format.md, HFile)."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.hfile.checksum import crc32c_of_chunks
from spark_jobs.core.files.hfile.compression import Compression, compress, decompress
from spark_jobs.core.files.hfile.format import BlockKind

BYTES_PER_CHECKSUM = 16384
_HEAD = struct.Struct(">8siiqBii")
HEAD_SIZE = _HEAD.size
_CHECKSUM_SIZE = 4


class ChecksumKind(IntEnum):
    """The checksums a block can have; the values are those on disk."""

    NULL = 0
    CRC32 = 1
    CRC32C = 2


@dataclass(frozen=True, slots=True)
class EncodedBlock:
    """A block as it stands in a file, and how many bytes it would be without compression and checksums."""

    data: bytes
    uncompressed_size: int


def encode_block(
    kind: BlockKind, payload: bytes | memoryview, compression: Compression, previous_offset: int
) -> EncodedBlock:
    """A block with CRC-32C checksums.

    :param previous_offset: where the previous block of the kind begins in the file, -1 without one.
    """
    packed = compress(payload, compression)
    with_head = HEAD_SIZE + len(packed)
    checksums = _CHECKSUM_SIZE * -(-with_head // BYTES_PER_CHECKSUM)
    head = _HEAD.pack(
        kind.value,
        len(packed) + checksums,
        len(payload),
        previous_offset,
        ChecksumKind.CRC32C,
        BYTES_PER_CHECKSUM,
        with_head,
    )
    covered = head + packed
    sums = crc32c_of_chunks(covered, BYTES_PER_CHECKSUM).astype(">u4").tobytes()
    return EncodedBlock(covered + sums, HEAD_SIZE + len(payload))


def block_size(head: memoryview) -> int:
    """The whole size of the block with this head, whose first 33 bytes are enough.

    :raises CorruptTableError: no block begins there.
    """
    magic, on_disk = _HEAD.unpack_from(head)[:2]
    if magic not in {kind.value for kind in BlockKind} or on_disk < 0:
        raise CorruptTableError(f"no HFile block begins with {magic!r}")
    return HEAD_SIZE + int(on_disk)


def decode_block(data: memoryview, kind: BlockKind, compression: Compression) -> memoryview:
    """The raw payload of a whole block, its checksums verified.

    Those of a gzip stream are not: it ends with a CRC-32 of the raw bytes, which its decoder compares.

    :raises CorruptTableError: another kind of block, one that contradicts itself, or a wrong checksum.
    """
    if len(data) < HEAD_SIZE:
        raise CorruptTableError(f"an HFile block of {len(data)} bytes is shorter than its head")
    magic, on_disk, raw_size, _, checksum_kind, per_checksum, with_head = _HEAD.unpack_from(data)
    if magic != kind.value:
        raise CorruptTableError(f"an HFile block begins with {magic!r} where a {kind.name} block belongs")
    if HEAD_SIZE + on_disk != len(data) or raw_size < 0 or not HEAD_SIZE <= with_head <= len(data):
        raise CorruptTableError(
            f"the sizes of a {kind.name} block of {len(data)} bytes contradict each other: "
            f"{on_disk} on disk, {with_head} with its head, {raw_size} raw"
        )
    if compression is not Compression.GZ:
        _verify(data[:with_head], data[with_head:], checksum_kind, per_checksum)
    return decompress(data[HEAD_SIZE:with_head], compression, raw_size)


def _verify(covered: memoryview, stored: memoryview, checksum_kind: int, per_checksum: int) -> None:
    if checksum_kind == ChecksumKind.NULL:
        return
    if checksum_kind not in ChecksumKind.__members__.values():
        raise CorruptTableError(f"an HFile block has checksums of the unknown kind {checksum_kind}")
    if per_checksum < 64 or len(stored) != _CHECKSUM_SIZE * -(-len(covered) // per_checksum):
        raise CorruptTableError(f"an HFile block has {len(stored)} bytes of checksums, one for each {per_checksum}")
    if checksum_kind == ChecksumKind.CRC32C and not per_checksum & (per_checksum - 1):
        found = crc32c_of_chunks(covered, per_checksum)
    else:
        pieces = [covered[at : at + per_checksum] for at in range(0, len(covered), per_checksum)]
        if checksum_kind == ChecksumKind.CRC32:
            found = np.array([zlib.crc32(piece) for piece in pieces], dtype=np.uint32)
        else:
            whole = 1 << per_checksum.bit_length()
            found = np.array([crc32c_of_chunks(piece, whole)[0] for piece in pieces], dtype=np.uint32)
    if not np.array_equal(found, np.frombuffer(stored, dtype=">u4")):
        raise CorruptTableError("a checksum of an HFile block is wrong: its bytes changed after they were written")
