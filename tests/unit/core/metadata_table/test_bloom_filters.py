"""Bloom filters that Hudi wrote to the metadata table, and those of the footers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.v6.file_names import parse_base_file_name
from spark_jobs.core.metadata_table.bloom_filters import (
    BLOOM_FILTERS,
    StoredBloomFilter,
    bloom_tombstone,
    read_footer_filter,
)
from spark_jobs.core.metadata_table.keys import bloom_filter_key
from spark_jobs.core.metadata_table.layout import partition_of
from spark_jobs.core.metadata_table.scan import read_records
from spark_jobs.core.metadata_table.schema import STORED_TEXT
from tests.support.folder import Folder
from tests.unit.core.metadata_table.agreement import listed_files, metadata_table_of

pytestmark = pytest.mark.unit


def test_the_filters_of_footers_are_those_that_hudi_stored(indexed_table: Folder) -> None:
    table = indexed_table.table()
    records = read_records(metadata_table_of(indexed_table), MetadataPartition.BLOOM_FILTERS, BLOOM_FILTERS)
    live = set()
    for key, names in listed_files(indexed_table).items():
        for name in names:
            base = parse_base_file_name(name)
            if base is not None:
                stored = records[bloom_filter_key(partition_of(key), name)]
                path = "/".join(part for part in (table.base_path, partition_of(key), name) if part)
                assert read_footer_filter(table.storage, path, stored.instant) == stored
                assert stored.instant == base.instant
                live.add(bloom_filter_key(partition_of(key), name))
    assert live
    assert all(records[key] == bloom_tombstone(records[key].instant) for key in records.keys() - live)


@given(kind=st.text(max_size=9), instant=st.text(max_size=9), text=st.binary(max_size=50), gone=st.booleans())
def test_records_come_back_equal(kind: str, instant: str, text: bytes, gone: bool) -> None:
    one = StoredBloomFilter(kind=kind, instant=instant, text=text, is_deleted=gone)
    assert BLOOM_FILTERS.decode(BLOOM_FILTERS.encode("k", one), STORED_TEXT, "here") == one
    assert BLOOM_FILTERS.merge(one, bloom_tombstone("2")) == bloom_tombstone("2")


def test_a_record_of_another_partition_is_none_of_these() -> None:
    with pytest.raises(CorruptTableError, match="type 3 among bloom filters"):
        BLOOM_FILTERS.from_avro({"type": 3}, "here")
