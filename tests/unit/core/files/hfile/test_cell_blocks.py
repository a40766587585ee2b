"""Where the cells of a block are found at once, and keys without a look at all of them."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.hfile import cells as module
from spark_jobs.core.files.hfile.blocks import HEAD_SIZE
from spark_jobs.core.files.hfile.cells import CellBlock
from spark_jobs.core.files.hfile.format import KEY_SUFFIX
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.hfile.writer import write_hfile

pytestmark = pytest.mark.unit

Pairs = list[tuple[bytes, bytes]]


def payload_of(pairs: Pairs, has_mvcc: bool = True) -> memoryview:
    cells = []
    for row, value in pairs:
        key = len(row).to_bytes(2, "big") + row + KEY_SUFFIX
        cells.append(struct.pack(">ii", len(key), len(value)) + key + value + b"\0" * has_mvcc)
    return memoryview(b"".join(cells))


def at_once(payload: memoryview, has_mvcc: bool = True) -> Pairs | None:
    block = module._found_by_suffix(payload, has_mvcc)
    return None if block is None else list(block.cells().pairs())


def one_by_one(payload: memoryview, has_mvcc: bool = True) -> Pairs:
    return list(module._found_one_by_one(payload, has_mvcc, False).cells().pairs())


@pytest.mark.parametrize("has_mvcc", [True, False])
@pytest.mark.parametrize("value", [b"", b"v", b"\x7f" * 9, b"value" * 50])
@pytest.mark.parametrize("lengths", [[0], [5], [3, 4, 5], list(range(30))])
def test_cells_are_found_at_once(lengths: list[int], value: bytes, has_mvcc: bool) -> None:
    pairs = [(b"k" * length, value[: number % 7]) for number, length in enumerate(lengths * 20)]
    payload = payload_of(pairs, has_mvcc)
    assert at_once(payload, has_mvcc) == one_by_one(payload, has_mvcc)


def test_what_is_not_sure_is_left_to_the_loop() -> None:
    """A value with the suffix of keys in it, rows of too many lengths, a cell that is cut off, nothing of the kind."""
    assert at_once(payload_of([(b"a", KEY_SUFFIX), (b"b", b"")])) is None
    assert at_once(payload_of([(b"k" * length, b"") for length in range(100)])) is None
    assert at_once(payload_of([(b"a", b"1"), (b"b", b"2")])[:-1]) is None
    assert at_once(memoryview(bytes(100))) is None
    pairs = [(b"%05d" % number, KEY_SUFFIX + bytes([number % 7])) for number in range(2000)]
    assert list(CellBlock.of(payload_of(pairs), has_mvcc=True, mvcc_varies=False).cells().pairs()) == pairs


rows = st.binary(max_size=12) | st.binary(min_size=1, max_size=2).map(lambda end: b"same beginning " + end)
values = st.binary(max_size=20) | st.just(KEY_SUFFIX) | st.just(b"\x7f" + b"\xff" * 7)


@settings(deadline=None)
@given(st.lists(st.tuples(rows, values), min_size=1, max_size=30), st.booleans())
def test_both_ways_agree(pairs: Pairs, has_mvcc: bool) -> None:
    payload = payload_of(pairs, has_mvcc)
    assert at_once(payload, has_mvcc) in (None, one_by_one(payload, has_mvcc))


@settings(deadline=None)
@given(st.lists(st.tuples(rows, values), min_size=1, max_size=30), st.data())
def test_damaged_cells_are_none_or_the_same(pairs: Pairs, data: st.DataObject) -> None:
    payload = bytearray(payload_of(pairs))
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    damaged = memoryview(bytes(payload))
    found = at_once(damaged)
    if found is not None:
        assert found == one_by_one(damaged)


texts = st.sampled_from([b"", b"k", b"key", b"key-0000", b"key-0000-"])
keys = st.tuples(texts, st.binary(max_size=10)).map(b"".join)


@settings(deadline=None)
@given(st.lists(st.tuples(keys, values), max_size=30), st.lists(keys, max_size=20), st.integers(0, 30))
def test_keys_are_found_by_their_first_words(pairs: Pairs, others: list[bytes], some: int) -> None:
    """As if each key were compared; also those that differ by a zero byte at the end, or come twice."""
    stored = sorted(pairs, key=lambda pair: pair[0])
    wanted = sorted({key for key, _ in pairs[:some]} | set(others))
    block = CellBlock.of(payload_of(stored), has_mvcc=True, mvcc_varies=False)
    assert list(block.lookup(wanted).pairs()) == [pair for pair in stored if pair[0] in wanted]
    reader = HFileReader(write_hfile(stored, block_size=60))
    found = [pair for cells in reader.lookup(wanted) for pair in cells.pairs()]
    assert found == [pair for pair in stored if pair[0] in wanted]


def test_keys_that_do_not_ascend_are_damage() -> None:
    block = CellBlock.of(payload_of([(b"b", b""), (b"a", b""), (b"c", b"")]), has_mvcc=True, mvcc_varies=False)
    with pytest.raises(CorruptTableError, match="do not ascend"):
        block.lookup([b"b"])


def test_a_gzip_block_is_checked_by_its_own_sum() -> None:
    """Each byte of the stream that means something, wherever it was changed."""
    pairs = [(b"key-%05d" % number, b"value-%d" % (number * 7919)) for number in range(3000)]
    data = write_hfile(pairs)
    place = HFileReader(data)._root.places[0]
    for at in np.linspace(place.offset + HEAD_SIZE + 12, place.offset + place.size - 13, 40).astype(int).tolist():
        damaged = bytearray(data)
        damaged[at] ^= 4
        with pytest.raises(CorruptTableError):
            list(HFileReader(bytes(damaged)).entries())
