"""Names, and the file group of a key, by values that Hudi 0.15's own classes gave."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.v6.metadata import METADATA
from spark_jobs.core.metadata_table.layout import (
    group_indexes,
    group_numbers,
    identifier_of,
    partition_of,
)

pytestmark = pytest.mark.unit


def test_file_ids() -> None:
    assert [METADATA.file_id(one, 0) for one in METADATA.names] == [
        "files-0000-0",
        "col-stats-0000-0",
        "bloom-filters-0000-0",
        "record-index-0000-0",
    ]
    assert METADATA.file_id(MetadataPartition.RECORD_INDEX, 12) == "record-index-0012-0"


@pytest.mark.parametrize(
    ("file_id", "number"), [("files-0003-0", 3), ("files-0003", 3), ("record-index-0003-0", None), ("files-", None)]
)
def test_the_number_of_a_file_id(file_id: str, number: int | None) -> None:
    assert METADATA.number_of(MetadataPartition.FILES, file_id) == number


@pytest.mark.parametrize(("key", "group"), [("key1", 8), ("200704-2", 0), ("é", 3)])
def test_the_group_of_a_key(key: str, group: int) -> None:
    assert group_indexes([key], 10).tolist() == [group]


def test_groups_are_found_for_many_keys_at_once() -> None:
    keys = ["", "key1", "a" * 40, "200704-2", "𝄞 beyond the basic plane", "é", "polygenelubricants"]
    assert group_indexes(keys, 10).tolist() == [_java_group(key, 10) for key in keys]
    assert group_indexes(keys, 7).tolist() == [_java_group(key, 7) for key in keys]
    assert group_indexes(keys, 1).tolist() == [0] * len(keys)
    assert group_indexes([], 10).tolist() == []


def _java_group(key: str, groups: int) -> int:
    """As Java computes it, unit by unit; the last key hashes to Integer.MIN_VALUE, whose abs stays negative."""
    value = 0
    units = key.encode("utf-16-be")
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    signed = value - (1 << 32) if value & 0x80000000 else value
    magnitude = signed if signed == -(1 << 31) else abs(signed)
    return abs(-(-magnitude % groups) if magnitude < 0 else magnitude % groups)


def test_a_table_without_partitions_is_spelled_by_a_dot() -> None:
    assert (identifier_of(""), identifier_of("a/b")) == (".", "a/b")
    assert (partition_of("."), partition_of("a/b")) == ("", "a/b")


@pytest.mark.parametrize(
    ("instant", "own"),
    [
        ("00000000000000010", True),
        ("20261121123823349006", True),
        ("20261121123823349010", True),
        ("20261121123823349013", True),
        ("20261121123823349007", False),
        ("20261121123823349", False),
    ],
)
def test_instants_that_only_the_metadata_table_has(instant: str, own: bool) -> None:
    assert METADATA.is_own(instant) is own


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12), max_size=30), st.integers(2, 11))
def test_groups_of_arrays_are_those_of_each_key(keys: list[str], groups: int) -> None:
    found = group_numbers(pa.array(["x", *keys], pa.string()).slice(1), groups)
    assert found.tolist() == [_java_group(key, groups) for key in keys]
