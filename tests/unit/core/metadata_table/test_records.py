"""Records of ``files``: how two become one, and their bytes."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError, HudiError
from spark_jobs.core.metadata_table.records import (
    ALL_PARTITIONS,
    FILES,
    FileEntry,
    file_list,
    merge_entries,
    partition_list,
)
from spark_jobs.core.metadata_table.schema import STORED_TEXT

pytestmark = pytest.mark.unit

ENTRIES = st.dictionaries(st.text(), st.builds(FileEntry, st.integers(0, 2**62), st.booleans()), max_size=5)


@pytest.mark.parametrize(
    ("older", "newer", "merged"),
    [
        (FileEntry(5), FileEntry(7), FileEntry(7)),
        (FileEntry(7), FileEntry(5), FileEntry(7)),
        (FileEntry(5), FileEntry(0, True), None),
        (FileEntry(0, True), FileEntry(5), FileEntry(5)),
        (FileEntry(0, True), FileEntry(0, True), FileEntry(0, True)),
        (None, FileEntry(0, True), FileEntry(0, True)),
        (None, FileEntry(5), FileEntry(5)),
        (FileEntry(5), None, FileEntry(5)),
    ],
    ids=["grown", "shorter", "deleted", "again", "twice deleted", "tombstone", "new", "kept"],
)
def test_two_records_of_one_name(older: FileEntry | None, newer: FileEntry | None, merged: FileEntry | None) -> None:
    found = merge_entries({"f": older} if older else {}, {"f": newer} if newer else {})
    assert found.get("f") == merged


def test_the_bytes_of_the_first_record_of_an_empty_table_are_those_of_hudi() -> None:
    name = "files-0000-0_0-6-5_00000000000000010.hfile"
    expected = bytes(4) + b"\x02\x54" + name.encode() + bytes.fromhex("000202 00 00 00 00".replace(" ", ""))
    assert FILES.encode(ALL_PARTITIONS, {}, name) == expected


def test_lists_are_spelled_as_keys_are() -> None:
    assert partition_list(["", "a/b"], ["c"]) == {".": FileEntry(), "a/b": FileEntry(), "c": FileEntry(0, True)}
    assert file_list({"x": 3}, ["y"]) == {"x": FileEntry(3), "y": FileEntry(0, True)}


@given(entries=ENTRIES)
def test_records_come_back_equal(entries: dict[str, FileEntry]) -> None:
    value = FILES.encode("p", entries)
    assert FILES.decode(value, STORED_TEXT, "here") == entries


@given(data=st.binary(max_size=60))
def test_any_bytes_give_a_record_or_an_error(data: bytes) -> None:
    with suppress(HudiError):
        assert isinstance(FILES.decode(data, STORED_TEXT, "here"), dict)


def test_a_record_of_another_partition_is_no_list_of_files() -> None:
    with pytest.raises(CorruptTableError, match="type 5 among files"):
        FILES.from_avro({"type": 5}, "here")
    with pytest.raises(CorruptTableError, match="no Avro schema"):
        FILES.decode(b"", "{}", "here")
