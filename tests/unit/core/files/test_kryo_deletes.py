"""Delete blocks as Hudi wrote them before 0.13."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError, HudiError
from spark_jobs.core.files.delete_records import decode_delete_records
from spark_jobs.core.files.kryo_deletes import KEY_CLASS, decode_kryo_keys

pytestmark = pytest.mark.unit


def ascii_text(text: str) -> bytes:
    return text[:-1].encode() + bytes([ord(text[-1]) | 0x80])


def array_of(*keys: bytes, count: int | None = None) -> bytes:
    head = b"\x01\x00" + ascii_text(f"[L{KEY_CLASS};") + b"\x01"
    return head + bytes([(len(keys) if count is None else count) + 1]) + b"".join(keys)


FIRST = b"\x01\x01" + ascii_text(KEY_CLASS) + b"\x01" + b"\x01" + ascii_text("2021/09/01") + b"\x01" + ascii_text("k01")
SAME_PARTITION = b"\x01\x01\x01" + b"\x04" + b"\x01" + ascii_text("k02")


BY_HUDI_0_9 = bytes.fromhex(
    "000000010000006501005b4c6f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e486f6f6469654b6579bb010201016f72"
    "672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e486f6f6469654b65f90101323032312f30392f30b1016b30b3"
)


def test_a_block_of_hudi_0_9() -> None:
    (found,) = decode_delete_records(BY_HUDI_0_9)
    assert (found.keys.to_pylist(), found.partitions.to_pylist()) == (["k03"], ["2021/09/01"])
    assert BY_HUDI_0_9[8:] == array_of(FIRST[:-3] + b"k0" + bytes([ord("3") | 0x80]))


def test_keys_and_references() -> None:
    assert decode_kryo_keys(array_of()) == []
    assert decode_kryo_keys(array_of(FIRST, SAME_PARTITION)) == [("k01", "2021/09/01"), ("k02", "2021/09/01")]


@pytest.mark.parametrize(
    ("characters", "expected"),
    [
        (b"\x81", ""),
        (b"\x82" + b"x", "x"),
        (b"\x84" + "äß€".encode(), "äß€"),
        (bytes([0x80 | 0x40 | (101 & 0x3F), 101 >> 6]) + b"y" * 100, "y" * 100),
        (b"\x83" + "\ud83d".encode("utf-8", "surrogatepass") + "\ude00".encode("utf-8", "surrogatepass"), "😀"),
    ],
)
def test_texts(characters: bytes, expected: str) -> None:
    key = b"\x01\x01" + ascii_text(KEY_CLASS) + b"\x01" + b"\x00" + b"\x01" + characters
    assert decode_kryo_keys(array_of(key)) == [(expected, None)]


def test_deletes_have_hudis_ordering_value_of_none() -> None:
    body = array_of(FIRST, SAME_PARTITION)
    (found,) = decode_delete_records(struct.pack(">ii", 1, len(body)) + body)
    assert found.keys.to_pylist() == ["k01", "k02"]
    assert found.partitions.to_pylist() == ["2021/09/01", "2021/09/01"]
    assert found.orderings.equals(pa.array([0, 0], pa.int32()))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "no Kryo array"),
        (b"\x05", "something else than keys"),
        (b"\x01\x00" + ascii_text("java.util.HashMap"), "holds a java.util.HashMap"),
        (array_of(FIRST, count=100), "says that it has 100 keys|no Kryo array"),
        (array_of(FIRST) + b"\x00", "1 bytes behind its keys"),
        (array_of(FIRST)[:-3], "no Kryo array"),
        (array_of(FIRST, b"\x01\x01\x01" + b"\x7f"), "refers to object 125"),
        (array_of(b"\x01\x01" + ascii_text(KEY_CLASS) + b"\x00"), "a null among its keys"),
    ],
)
def test_anything_else_is_corrupt(data: bytes, what: str) -> None:
    with pytest.raises(CorruptTableError, match=what):
        decode_kryo_keys(data)


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=60).map(lambda tail: array_of(FIRST)[:-20] + tail)))
def test_any_bytes_are_keys_or_an_error_of_ours(data: bytes) -> None:
    try:
        decode_kryo_keys(data)
    except HudiError as error:
        assert error.exit_code == 5  # noqa: PT017  (raising nothing is fine too)
