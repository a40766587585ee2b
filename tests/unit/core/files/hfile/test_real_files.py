"""HFiles that HBase wrote: read whole, by key and by prefix, and written again to the same bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.files.hfile.blocks import HEAD_SIZE, block_size
from spark_jobs.core.files.hfile.format import HUDI_COMPARATOR, TRAILER_SIZE, InfoKey
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.hfile.source import Source
from spark_jobs.core.files.hfile.writer import write_hfile

pytestmark = pytest.mark.unit

DEEP = "hudi_1_0_hbase_2_4_13_1KB_GZ_10000_large_keys_deep_index"
MANY = "hudi_1_0_hbase_2_4_9_16KB_GZ_20000"
PLAIN = "hudi_1_0_hbase_2_4_9_16KB_NONE_5000"
EMPTY = "hudi_1_0_hbase_2_4_9_no_entry"
LONG_KEY = b"hudi-key-" + b"a" * 100 + b"-%09d"
KEY = b"hudi-key-%09d"


def read(folder: Path, name: str) -> bytes:
    return (folder / f"{name}.hfile").read_bytes()


class Counting:
    """The ranges of a file that were read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.ranges: list[tuple[int, int]] = []

    def source(self) -> Source:
        def read_range(offset: int, length: int) -> bytes:
            self.ranges.append((offset, length))
            return self.data[offset : offset + length]

        return Source(read_range, len(self.data))


@pytest.mark.parametrize(
    ("name", "count", "levels"), [(DEEP, 10000, 3), (MANY, 20000, 1), (PLAIN, 5000, 1), (EMPTY, 0, 1)]
)
def test_every_cell(hbase_files: Path, name: str, count: int, levels: int) -> None:
    reader = HFileReader(read(hbase_files, name))
    key = LONG_KEY if name == DEEP else KEY
    assert reader.trailer.index_levels == levels
    assert reader.entry_count == count
    assert list(reader.entries()) == [(key % i, b"hudi-value-%09d" % i) for i in range(count)]


def test_an_open_file(hbase_files: Path) -> None:
    with pa.OSFile(str(hbase_files / f"{MANY}.hfile")) as file:
        reader = HFileReader(file)
        assert reader.get([KEY % 7, b"none"]) == {KEY % 7: b"hudi-value-000000007"}
        assert reader.info[b"hudi_hfile_testing.custom_key"] == b"hudi_custom_value"
        assert (reader.meta_block("bloomFilter") or b"").startswith(b"/////wAAABQBAAAB")
        assert reader.meta_block("nothing") is None


@pytest.mark.parametrize(("name", "key", "count"), [(DEEP, LONG_KEY, 10000), (MANY, KEY, 20000)])
def test_lookups(hbase_files: Path, name: str, key: bytes, count: int) -> None:
    reader = HFileReader(read(hbase_files, name))
    numbers = random.Random(1).sample(range(count), 200)
    absent = [b"", b"hudi-key", key % 5 + b"x", key % count, b"z"]
    assert reader.get([key % i for i in numbers] + absent) == {key % i: b"hudi-value-%09d" % i for i in numbers}
    stem = (key % 1230)[:-1]
    assert [found for found, _ in reader.prefixes([stem])] == [key % i for i in range(1230, 1240)]
    assert len(list(reader.prefixes([stem, stem[:-1], key % 5, b"none"]))) == 101
    assert sum(1 for _ in reader.prefixes([b""])) == count
    assert list(reader.prefixes([])) == list(reader.prefixes([b"\xff"])) == []


def test_a_lookup_reads_what_it_needs(hbase_files: Path) -> None:
    counting = Counting(read(hbase_files, DEEP))
    reader = HFileReader(counting.source())
    assert len(counting.ranges) == 1  # the tail has the trailer, the root index and the file info
    reader.get([LONG_KEY % 4321])
    assert len(counting.ranges) == 4  # a node, a leaf, a data block
    assert sum(length for _, length in counting.ranges[1:]) < 5000
    reader.get([LONG_KEY % 4322])
    assert len(counting.ranges) == 5  # the nodes are known by now
    counting.ranges.clear()
    list(reader.arrays())
    assert len(counting.ranges) < 120  # 106 leaves; the 1250 data blocks come in few reads


@pytest.mark.parametrize(("name", "block_bytes"), [(MANY, 16384), (PLAIN, 16384), (EMPTY, 1 << 20)])
def test_written_again_it_has_the_same_bytes(hbase_files: Path, name: str, block_bytes: int) -> None:
    data = read(hbase_files, name)
    again = written_again(data, block_bytes)
    assert without_checksums(again) == without_checksums(data)
    if name == PLAIN:
        assert again == data


def test_metadata_tables_of_hudi(hudi_files: dict[str, bytes]) -> None:
    assert sum(".log." in name for name in hudi_files) > 10
    assert sum(".log." not in name for name in hudi_files) > 3
    for name, data in hudi_files.items():
        reader = HFileReader(data, name)
        assert reader.trailer.comparator == HUDI_COMPARATOR
        keys = [key for key, _ in reader.entries()]
        if ".log." not in name:
            assert (keys[0], keys[-1]) == (reader.info[b"minRecordKey"], reader.info[b"maxRecordKey"])
        assert written_again(data, 1 << 20) == data, name


def without_checksums(data: bytes) -> bytes:
    """Nor the last byte of gzip heads, which an older Java wrote otherwise; the checksums cover it."""
    out, at = b"", 0
    while at < len(data) - TRAILER_SIZE:
        size, covered = block_size(memoryview(data)[at:]), int.from_bytes(data[at + 29 : at + 33], "big")
        block = data[at : at + covered]
        packed = block[HEAD_SIZE : HEAD_SIZE + 3] == b"\x1f\x8b\x08"
        out += block[: HEAD_SIZE + 9] + b"\xff" + block[HEAD_SIZE + 10 :] if packed else block
        at += size
    return out + data[at:]


def written_again(data: bytes, block_bytes: int) -> bytes:
    reader = HFileReader(data)
    bloom = reader.meta_block("bloomFilter")
    return write_hfile(
        reader.read_all(),
        compression=reader.trailer.compression,
        block_size=block_bytes,
        meta={} if bloom is None else {"bloomFilter": bloom},
        file_info=dict(_given(reader)),
        comparator=reader.trailer.comparator,
    )


def _given(reader: HFileReader) -> Iterator[tuple[bytes, bytes]]:
    own = {value for name, value in vars(InfoKey).items() if not name.startswith("_")}
    return ((key, value) for key, value in reader.info.items() if key not in own)
