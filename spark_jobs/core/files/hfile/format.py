"""The fixed parts of an HFile version 3: block heads, trailer, file info (docs/format.md, HFile).

Source: HBase's ``HFileBlock``, ``FixedFileTrailer``, ``HFileInfo``. Integers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.hfile.compression import Compression
from spark_jobs.core.files.hfile.protobuf import decode_message, delimited, encode_message, read_delimited

HUDI_COMPARATOR = "org.apache.hudi.io.storage.HoodieHBaseKVComparator"
"""HBase makes an object of the class that a trailer names; Hudi's readers have this one."""

BOOTSTRAP_COMPARATOR = "org.apache.hudi.common.bootstrap.index.HFileBootstrapIndex$HoodieKVComparator"
"""That of the bootstrap index."""

TRAILER_SIZE = 4096
_MAJOR_VERSION = 3
_MINOR_VERSION = 3
_TRAILER_MAGIC = b'TRABLK"$'
_FILE_INFO_MAGIC = b"PBUF"
_VERSION = struct.Struct(">I")

KEY_SUFFIX = b"\0" + struct.pack(">q", (1 << 63) - 1) + b"\x04"
"""What follows the row in a cell's key: no family (nor qualifier), the latest timestamp, the type Put."""
FIRST_ON_ROW_SUFFIX = KEY_SUFFIX[:-1] + b"\xff"
"""The same with the type Maximum, which sorts before every cell of the row: of keys that only the index has."""
ROW_LENGTH = struct.Struct(">h")
MAX_ROW_BYTES = (1 << 15) - 1


class BlockKind(Enum):
    """What a block holds, by its magic."""

    DATA = b"DATABLK*"
    LEAF_INDEX = b"IDXLEAF2"
    INTERMEDIATE_INDEX = b"IDXINTE2"
    ROOT_INDEX = b"IDXROOT2"
    META = b"METABLKc"
    FILE_INFO = b"FILEINF2"


class InfoKey:
    """Keys of the file info."""

    LAST_KEY = b"hfile.LASTKEY"
    AVERAGE_KEY_LENGTH = b"hfile.AVG_KEY_LEN"
    AVERAGE_VALUE_LENGTH = b"hfile.AVG_VALUE_LEN"
    CREATED = b"hfile.CREATE_TIME_TS"
    LONGEST_TAGS = b"hfile.MAX_TAGS_LEN"
    KEY_VALUE_VERSION = b"KEY_VALUE_VERSION"
    NEWEST_MVCC = b"MAX_MEMSTORE_TS_KEY"
    BLOCK_ENCODING = b"DATA_BLOCK_ENCODING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trailer:
    """The last 4096 bytes; offsets are in the file, -1 where there is no data block."""

    file_info_offset: int
    load_on_open_offset: int
    uncompressed_index_size: int
    total_uncompressed_bytes: int
    data_index_count: int
    meta_index_count: int
    entry_count: int
    index_levels: int
    first_data_offset: int
    last_data_offset: int
    comparator: str
    compression: Compression

    def encode(self) -> bytes:
        message = encode_message(
            [
                (1, self.file_info_offset),
                (2, self.load_on_open_offset),
                (3, self.uncompressed_index_size),
                (4, self.total_uncompressed_bytes),
                (5, self.data_index_count),
                (6, self.meta_index_count),
                (7, self.entry_count),
                (8, self.index_levels),
                (9, self.first_data_offset),
                (10, self.last_data_offset),
                (11, self.comparator.encode()),
                (12, int(self.compression)),
            ]
        )
        version = _VERSION.pack(_MINOR_VERSION << 24 | _MAJOR_VERSION)
        return (_TRAILER_MAGIC + delimited(message)).ljust(TRAILER_SIZE - len(version), b"\0") + version

    @staticmethod
    def decode(data: memoryview) -> Trailer:
        """
        :raises CorruptTableError: no trailer stands there.
        :raises UnsupportedTableError: another major version, an encrypted file, an unknown compression.
        """
        if len(data) != TRAILER_SIZE or data[: len(_TRAILER_MAGIC)] != _TRAILER_MAGIC:
            raise CorruptTableError("an HFile does not end with a trailer: it is cut off, or no HFile")
        major = _VERSION.unpack(data[-_VERSION.size :])[0] & 0xFFFFFF
        if major != _MAJOR_VERSION:
            raise UnsupportedTableError(
                f"an HFile has the major version {major}, this release reads {_MAJOR_VERSION}",
                todo="compact its table with its own Hudi",
            )
        found: dict[int, int | bytes] = dict(decode_message(read_delimited(data, len(_TRAILER_MAGIC))))
        if 13 in found:
            raise UnsupportedTableError("an HFile is encrypted, which this release does not read")

        def number(field: int, default: int = 0) -> int:
            value = found.get(field, default)
            if not isinstance(value, int):
                raise CorruptTableError(f"field {field} of an HFile's trailer is no number")
            return value

        comparator = found.get(11, b"")
        trailer = Trailer(
            file_info_offset=number(1),
            load_on_open_offset=number(2),
            uncompressed_index_size=number(3),
            total_uncompressed_bytes=number(4),
            data_index_count=number(5),
            meta_index_count=number(6),
            entry_count=number(7),
            index_levels=number(8),
            first_data_offset=number(9),
            last_data_offset=number(10),
            comparator=comparator.decode(errors="replace") if isinstance(comparator, bytes) else "",
            compression=Compression.of_code(number(12, Compression.NONE)),
        )
        if min(trailer.data_index_count, trailer.meta_index_count, trailer.entry_count, trailer.index_levels) < 0:
            raise CorruptTableError("an HFile's trailer has a negative count")
        return trailer


def encode_file_info(info: Mapping[bytes, bytes]) -> bytes:
    """Sorted by key, as HBase's."""
    pairs = [(1, encode_message([(1, key), (2, info[key])])) for key in sorted(info)]
    return _FILE_INFO_MAGIC + delimited(encode_message(pairs))


def decode_file_info(data: memoryview) -> dict[bytes, bytes]:
    """
    :raises CorruptTableError: the block holds no pairs.
    """
    if data[: len(_FILE_INFO_MAGIC)] != _FILE_INFO_MAGIC:
        raise CorruptTableError("an HFile's file info is not in protobuf form")
    info: dict[bytes, bytes] = {}
    for number, pair in decode_message(read_delimited(data, len(_FILE_INFO_MAGIC))):
        if number == 1 and isinstance(pair, bytes):
            fields = dict(decode_message(memoryview(pair)))
            key, value = fields.get(1, b""), fields.get(2, b"")
            if isinstance(key, bytes) and isinstance(value, bytes):
                info[key] = value
    return info
