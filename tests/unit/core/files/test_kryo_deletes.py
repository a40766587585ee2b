"""Delete blocks as Hudi wrote them before 0.14."""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError, HudiError, UnsupportedTableError
from spark_jobs.core.files.delete_records import decode_delete_records
from spark_jobs.core.files.kryo_deletes import KEY_CLASS, Ordering, decode_kryo_deletes, decode_kryo_keys

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


BY_HUDI_0_13: dict[str, bytes] = {
    name: bytes.fromhex(text)
    for name, text in json.loads(
        (Path(__file__).parents[3] / "fixtures" / "old_tables" / "kryo_deletes.json").read_text(encoding="utf-8")
    ).items()
}
"""What its SerializationUtils makes of arrays of delete records, by the class of their ordering values."""
TEXTS = ["m", "", "ä€😀"]


@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [
        ("none", None, []),
        ("null", None, [None]),
        ("int", pa.int32(), [0, 7, -300]),
        ("text", pa.string(), [*TEXTS, "m"]),
        ("avro text", pa.large_string(), TEXTS),
        ("double", pa.float64(), [-2.25]),
        ("boolean", pa.bool_(), [True, False]),
        ("decimal", pa.decimal128(30, 15), [Decimal("12.5")]),
    ],
)
def test_delete_records_of_hudi_0_13(name: str, kind: pa.DataType | None, values: list[Any]) -> None:
    expected = [
        (f"k{number}", "p", None if kind is None else Ordering(kind=kind, value=value))
        for number, value in enumerate(values)
    ]
    assert decode_kryo_deletes(BY_HUDI_0_13[name]) == expected
    found = decode_delete_records(block_of(BY_HUDI_0_13[name]))
    assert [value for part in found for value in part.orderings.to_pylist()] == values


def block_of(body: bytes) -> bytes:
    return struct.pack(">ii", 2, len(body)) + body


def test_deletes_come_by_the_class_of_their_ordering_values() -> None:
    def shown(name: str) -> list[tuple[pa.DataType, list[Any], list[Any]]]:
        parts = decode_delete_records(block_of(BY_HUDI_0_13[name]))
        return [(one.orderings.type, one.keys.to_pylist(), one.orderings.to_pylist()) for one in parts]

    assert shown("mixed") == [
        (pa.int32(), ["k0", "k1", "k3"], [0, 3, 4]),
        (pa.null(), ["k2"], [None]),
    ]
    assert shown("long") == [(pa.int32(), ["k0"], [5]), (pa.int64(), ["k1"], [-5_000_000_000])]


def test_a_float_has_four_bytes() -> None:
    double = BY_HUDI_0_13["double"]
    assert double[-9:] == b"\x0a" + struct.pack(">d", -2.25)
    ((_, _, found),) = decode_kryo_deletes(double[:-9] + b"\x04" + struct.pack(">f", 1.5))
    assert found == Ordering(kind=pa.float32(), value=1.5)


@pytest.mark.parametrize(("name", "java"), [("date", "java.sql.Date"), ("timestamp", "java.sql.Timestamp")])
def test_rare_classes_are_named(name: str, java: str) -> None:
    with pytest.raises(UnsupportedTableError, match=f"ordering values of the class {java}, which is not read"):
        decode_kryo_deletes(BY_HUDI_0_13[name])


@given(st.sampled_from(sorted(BY_HUDI_0_13)), st.integers(0, 1000), st.binary(max_size=20), st.booleans())
def test_spoilt_delete_records_are_an_error_of_ours(name: str, place: int, noise: bytes, cut: bool) -> None:
    whole = BY_HUDI_0_13[name]
    place %= len(whole)
    spoilt = whole[:place] + noise + (b"" if cut else whole[place + len(noise) :])
    try:
        decode_delete_records(block_of(spoilt))
    except HudiError as error:
        assert error.exit_code == 5  # noqa: PT017  (raising nothing is fine too)
