"""The metadata tables of tables that Hudi 0.15 wrote, read, taken over, and made anew."""

from __future__ import annotations

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.keys.table import METADATA_PARTITIONS
from spark_jobs.core.config.table_config import update_table_config
from spark_jobs.core.metadata_table.initialize import initialize
from spark_jobs.core.metadata_table.listing import MetadataListing
from spark_jobs.core.metadata_table.scan import read_file_records
from tests.support.folder import Folder
from tests.unit.core.metadata_table.agreement import disagreements, listed_files, metadata_table_of, stored_files

pytestmark = pytest.mark.unit


def test_it_lists_what_the_storage_has(table_of_hudi: Folder) -> None:
    assert isinstance(table_of_hudi.table().listing, MetadataListing)
    assert not disagreements(table_of_hudi)
    assert listed_files(table_of_hudi) == stored_files(table_of_hudi)


def test_some_keys_are_looked_up_alone(table_of_hudi: Folder) -> None:
    table = metadata_table_of(table_of_hudi)
    everything = read_file_records(table)
    for key, entries in everything.items():
        assert read_file_records(table, [key, "no such key"]) == {key: entries}
    assert read_file_records(table, []) == {}


def test_queries_answer_the_same_by_either_listing(table_of_hudi: Folder) -> None:
    path = table_of_hudi
    for query in ("snapshot", "read_optimized"):
        by_metadata = path.table().scan(query=query).to_arrow()
        assert by_metadata.equals(path.table(lists_storage=True).scan(query=query).to_arrow())
        assert by_metadata.num_rows


def test_made_anew_from_a_listing_it_says_the_same(table_of_hudi: Folder) -> None:
    before = listed_files(table_of_hudi)
    table = table_of_hudi.table()
    update_table_config(table.storage, table.base_path, {METADATA_PARTITIONS.name: ""}, SYSTEM_CLOCK)
    initialize(table.storage, table.base_path, table.config, table.timeline, SYSTEM_CLOCK)
    made = metadata_table_of(table_of_hudi)
    last = max(one.timestamp for one in table.timeline.instants if one.is_completed)
    assert [one.timestamp for one in made.timeline.instants] == [f"{last}010"]
    assert listed_files(table_of_hudi) == before
    assert not disagreements(table_of_hudi)


def test_where_it_is_gone_or_damaged_the_storage_is_listed(table_of_hudi: Folder) -> None:
    partitions = table_of_hudi.table(lists_storage=True).partitions()
    slices = table_of_hudi.table(lists_storage=True).file_slices()
    files = table_of_hudi / ".hoodie" / "metadata" / "files"
    for base in files.glob("*.hfile"):
        base.write_bytes(base.read_bytes()[:-10])
    assert table_of_hudi.table().file_slices() == slices
    files.remove()
    assert table_of_hudi.table().file_slices() == slices
    files.parent.remove()
    opened = table_of_hudi.table()
    assert (opened.partitions(), opened.file_slices()) == (partitions, slices)
