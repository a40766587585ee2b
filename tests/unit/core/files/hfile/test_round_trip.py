"""What is written comes back, in every compression; what can't be written is refused."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import BadRecordError, UnsupportedTableError
from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.files.hfile.compression import Compression
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.hfile.source import source_of
from spark_jobs.core.files.hfile.writer import HFileWriter, write_hfile

pytestmark = pytest.mark.unit

KNOWN = [one for one in Compression if one is not Compression.LZO]
ENTRIES = [(b"key-%05d" % i, b"value " * (i % 40) + bytes([i % 256])) for i in range(5000)]


@pytest.mark.parametrize("compression", KNOWN)
@pytest.mark.parametrize("block_size", [1, 1000, 1 << 20])
def test_each_compression(compression: Compression, block_size: int) -> None:
    entries = ENTRIES if block_size > 1 else ENTRIES[:200]
    data = write_hfile(entries, compression=compression, block_size=block_size, meta={"b": b"two", "a": b"one"})
    reader = HFileReader(data)
    assert reader.trailer.compression is compression
    assert list(reader.entries()) == entries
    assert reader.get([b"key-00042", b"key-0004"]) == {b"key-00042": ENTRIES[42][1]}
    assert (reader.meta_block("a"), reader.meta_block("b"), reader.meta_block("c")) == (b"one", b"two", None)


def test_lzo_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedTableError, match="compressed with LZO"):
        write_hfile(ENTRIES, compression=Compression.LZO)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=300)), max_size=40),
    st.sampled_from(KNOWN),
    st.sampled_from([1, 64, 300, 1 << 20]),
    st.lists(st.binary(max_size=4), max_size=5),
)
def test_any_cells(
    pairs: list[tuple[bytes, bytes]], compression: Compression, block_size: int, prefixes: list[bytes]
) -> None:
    unique = sorted(dict(pairs).items())
    reader = HFileReader(write_hfile(unique, compression=compression, block_size=block_size))
    assert list(reader.entries()) == unique
    assert reader.entry_count == len(unique)
    some = unique[::2]
    assert reader.get([key for key, _ in some] + prefixes) == {
        **dict(some),
        **{key: value for key, value in unique if key in prefixes},
    }
    found = [(key, value) for key, value in unique if key.startswith(tuple(prefixes))]
    assert list(reader.prefixes(prefixes)) == found


def test_keys_that_come_twice_stay_in_their_order() -> None:
    entries = [(b"a", b"1"), (b"a", b"2"), (b"b", b"3")]
    reader = HFileReader(write_hfile(entries))
    assert list(reader.entries()) == entries
    assert reader.get([b"a"]) == {b"a": b"1"}


@pytest.mark.parametrize("parts", [1, 3])
def test_cells_of_one_key_stay_in_one_block(parts: int) -> None:
    """As HBase's writer keeps them: its readers look for a key in one block."""
    entries = [(b"a", b"x" * 40), *((b"b", b"%02d" % number) for number in range(30)), (b"c", b"y"), (b"d", b"z")]
    sink = io.BytesIO()
    writer = HFileWriter(sink, block_size=64)
    step = -(-len(entries) // parts)
    for begin in range(0, len(entries), step):
        keys, values = zip(*entries[begin : begin + step], strict=True)
        writer.append(Cells(pa.array(keys, pa.large_binary()), pa.array(values, pa.large_binary())))
    writer.close()
    reader = HFileReader(sink.getvalue())
    blocks = [[key for key, _ in cells.pairs()] for cells in reader.arrays()]
    assert blocks == [[b"a", *[b"b"] * 30], [b"c", b"d"]]
    assert list(reader.entries()) == entries
    assert reader.get([b"a", b"b", b"c"]) == {b"a": b"x" * 40, b"b": b"00", b"c": b"y"}
    assert sink.getvalue() == write_hfile(entries, block_size=64)


def test_arrays_in_parts_make_the_file_that_pairs_make() -> None:
    keys, values = zip(*ENTRIES, strict=True)
    sink = io.BytesIO()
    writer = HFileWriter(sink, block_size=3000)
    for begin in range(0, len(ENTRIES), 777):
        part = slice(begin, begin + 777)
        writer.append(Cells(pa.array(keys[part], pa.binary()), pa.array(values[part], pa.binary())))
    assert writer.close() == len(sink.getvalue())
    assert sink.getvalue() == write_hfile(ENTRIES, block_size=3000)


def test_slices_of_arrays() -> None:
    keys, values = (pa.array(column, pa.large_binary()) for column in zip(*ENTRIES, strict=True))
    data = write_hfile(Cells(keys.slice(10, 20), values.slice(10, 20)))
    assert list(HFileReader(data).entries()) == ENTRIES[10:30]


def test_a_file_within_another() -> None:
    data = b"before" + write_hfile(ENTRIES[:10]) + b"behind"
    section = source_of(data).section(6, len(data) - 12)
    assert list(HFileReader(section).entries()) == ENTRIES[:10]


def test_keys_that_do_not_ascend() -> None:
    with pytest.raises(BadRecordError, match="do not ascend: sort them"):
        write_hfile([(b"b", b""), (b"a", b"")])
    writer = HFileWriter(io.BytesIO())
    writer.append(Cells(pa.array([b"b"]), pa.array([b""])))
    with pytest.raises(BadRecordError, match="do not ascend"):
        writer.append(Cells(pa.array([b"a"]), pa.array([b""])))


def test_a_key_that_is_too_long() -> None:
    assert HFileReader(write_hfile([(b"k" * 32767, b"v")])).entry_count == 1
    with pytest.raises(BadRecordError, match="a key of 32768 bytes is longer than an HFile's 32767"):
        write_hfile([(b"k" * 32768, b"v")])
