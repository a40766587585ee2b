from __future__ import annotations

import base64
import pickle
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import BadRecordError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.bloom import BloomFilter

pytestmark = pytest.mark.unit

KEYS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=14), max_size=60)


def scalar_murmur(data: bytes, seed: int) -> int:
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    state = (seed ^ len(data)) & mask
    for at in range(0, len(data) // 4 * 4, 4):
        word = int.from_bytes(data[at : at + 4], "little") * m & mask
        word = (word ^ word >> 24) * m & mask
        state = (state * m & mask) ^ word
    left = len(data) % 4
    for back in range(left, 0, -1):
        signed = struct.unpack("b", data[-back : len(data) - back + 1])[0]
        state ^= (signed << 8 * (back - 1)) & mask
    if left:
        state = state * m & mask
    state = (state ^ state >> 13) * m & mask
    return state ^ state >> 15


class ScalarFilter:
    """Hudi's filter key by key, as its Java classes do it."""

    def __init__(self, hashes: int, bits: int, nr: int, max_nr: int) -> None:
        self.hashes, self.bits, self.nr, self.max_nr = hashes, bits, nr, max_nr
        self.rows, self.count, self.reached, self.turn = [bytearray(-(-bits // 8))], 0, False, 0

    def _row(self) -> bytearray:
        if self.reached:
            self.turn += 1
            return self.rows[(self.turn - 1) % len(self.rows)]
        if self.count >= self.nr:
            if len(self.rows) * self.nr >= self.max_nr:
                self.reached = True
                return self.rows[0]
            self.rows.append(bytearray(-(-self.bits // 8)))
            self.count = 0
        return self.rows[-1]

    def add(self, key: str) -> None:
        row, state = self._row(), 0
        for _ in range(self.hashes):
            state = scalar_murmur(key.encode(), state)
            signed = state - (1 << 32) if state >> 31 else state
            position = abs(int(np.fmod(signed, self.bits)))
            row[position // 8] |= 1 << position % 8
        self.count += 1

    def to_base64(self) -> str:
        head = struct.pack(">iibi", -1, self.hashes, 1, self.bits)
        body = struct.pack(">iii", self.nr, self.count, len(self.rows))
        return base64.b64encode(head + body + b"".join(head + row for row in self.rows)).decode()


def test_simple_filter_has_the_bytes_of_hudi() -> None:
    bloom = BloomFilter.create(10, 0.01, "SIMPLE")
    bloom.add(pa.array(["key1", "200704-2", "naïve-é"]))
    assert bloom.to_base64() == "/////wAAAAcBAAAAYEgohhFEACqIIAFRAA=="


def test_dynamic_filter_has_the_bytes_of_hudi() -> None:
    bloom = BloomFilter.create(2, 0.1, "DYNAMIC_V0", 4)
    bloom.add(pa.array([f"k{number}" for number in range(7)]))
    assert bloom.to_base64() == "/////wAAAAQBAAAACgAAAAIAAAAFAAAAAv////8AAAAEAQAAAAr/Af////8AAAAEAQAAAApsAw=="


def test_default_filter_has_the_sizes_of_hudi() -> None:
    bloom = BloomFilter.create()
    bloom.add(pa.array([f"key-{number}" for number in range(30401)]))
    text = bloom.to_base64()
    assert len(text) == 431_380
    assert base64.b64decode(text)[:29].hex() == "ffffffff0000001e0100277d3e0000ea60000076c100000001ffffffff"


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(KEYS, max_size=4), nr=st.integers(1, 20), max_nr=st.integers(1, 60))
def test_equals_the_scalar_filter_at_any_cut_of_the_input(parts: list[list[str]], nr: int, max_nr: int) -> None:
    bloom = BloomFilter.create(nr, 0.01, "DYNAMIC_V0", max_nr)
    scalar = ScalarFilter(bloom._hashes, bloom._rows.shape[1], nr, max_nr)
    for part in parts:
        bloom.add(pa.array(part, pa.string()))
        for key in part:
            scalar.add(key)
    assert bloom.to_base64() == scalar.to_base64()


@settings(max_examples=60, deadline=None)
@given(first=KEYS, second=KEYS, kind=st.sampled_from(["SIMPLE", "DYNAMIC_V0"]))
def test_no_key_is_lost_also_after_a_round_trip(first: list[str], second: list[str], kind: str) -> None:
    bloom = BloomFilter.create(10, 0.01, kind, 30)
    bloom.add(pa.array(first, pa.string()))
    again = BloomFilter.from_base64(bloom.to_base64(), kind, max_entries=30)
    assert again.to_base64() == bloom.to_base64()
    again.add(pa.array(second, pa.string()))
    assert again.contains(pa.chunked_array([first, second], pa.string())).all()
    assert pickle.loads(pickle.dumps(again)).to_base64() == again.to_base64()


@pytest.mark.parametrize("kind", ["SIMPLE", "DYNAMIC_V0"])
def test_unknown_keys_are_mostly_refused(kind: str) -> None:
    bloom = BloomFilter.create(2000, 1e-3, kind, 4000)
    bloom.add(pa.array([f"key-{number}" for number in range(2000)]))
    assert bloom.contains(pa.array([f"other-{number}" for number in range(20000)])).sum() < 60


def test_slices_chunks_and_large_strings_give_the_same() -> None:
    keys = [f"k-{number}-{'é' * (number % 5)}" for number in range(100)]
    texts = set()
    for array in (
        pa.array(keys),
        pa.array(["x", *keys, "y"]).slice(1, 100),
        pa.chunked_array([keys[:3], keys[3:]]),
        pa.array(keys, pa.large_string()),
        pa.array(keys).dictionary_encode(),
    ):
        bloom = BloomFilter.create(40, 0.001)
        bloom.add(array)
        texts.add(bloom.to_base64())
    assert len(texts) == 1


@pytest.mark.parametrize("keys", [["a", None], ["a", ""]])
def test_null_and_empty_keys_are_refused(keys: list[str | None]) -> None:
    bloom = BloomFilter.create(10, 0.1)
    before = bloom.to_base64()
    with pytest.raises(BadRecordError):
        bloom.add(pa.array(keys))
    assert bloom.to_base64() == before


@pytest.mark.parametrize("text", ["", "/////wAAAAQB", "no base64!", "AAAAAA==", "/////wAAAAQBAAAACgAAAAIAAAAF"])
@pytest.mark.parametrize("kind", ["SIMPLE", "DYNAMIC_V0"])
def test_damaged_filters_are_named(text: str, kind: str) -> None:
    with pytest.raises(CorruptTableError, match="bloom filter"):
        BloomFilter.from_base64(text, kind)


def test_jenkins_and_unknown_kinds_are_named() -> None:
    with pytest.raises(UnsupportedTableError, match="Jenkins"):
        BloomFilter.from_base64(base64.b64encode(struct.pack(">iibi", 7, 8, 1, 8) + b"0").decode(), "SIMPLE")
    with pytest.raises(UnsupportedTableError, match="CUCKOO"):
        BloomFilter.create(kind="CUCKOO")
