"""Footers, key columns and the metadata table of tables that Hudi wrote say the same of their keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spark_jobs.core.index.footers import read_footers
from spark_jobs.core.index.from_metadata import IndexesOfMetadata
from spark_jobs.core.index.ranges import KeyRange
from spark_jobs.core.index.stored_keys import footer_filter, footer_range, found_in_base, possible, slice_keys
from spark_jobs.core.storage import resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from tests.support.folder import Folder, unzip

pytestmark = pytest.mark.unit

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "metadata_tables"


@pytest.fixture(params=["indexed_cow", "indexed_mor", "indexed_unpartitioned"])
def table(request: pytest.FixtureRequest, root: Folder) -> HudiTable:
    unzip(FIXTURES / f"{request.param}.zip", root)
    return (root / request.param).table()


def bases(table: HudiTable) -> dict[int, FileSlice]:
    found = {number: one for number, one in enumerate(table.file_slices()) if one.base_file is not None}
    assert found
    return found


def keys_of(table: HudiTable, one: FileSlice) -> pa.Array:
    parts = list(slice_keys(table.scan().reader(), replace(one, log_files=())))
    return pa.concat_arrays(parts)


def test_ranges_hold_the_keys_and_the_metadata_table_has_the_same(table: HudiTable) -> None:
    slices = bases(table)
    by_metadata = table.metadata_indexes().key_ranges(slices)
    by_footers = read_footers(table.storage, table.base_path, slices)
    assert by_metadata.keys() == by_footers.keys() == slices.keys()
    for number, one in slices.items():
        assert one.base_file is not None
        bounds = footer_range(table.storage, resolve(table.base_path, one.base_file.relative_path))
        assert bounds is not None
        keys = pc.min_max(keys_of(table, one)).as_py()
        assert bounds[0] <= keys["min"]
        assert keys["max"] <= bounds[1]
        assert by_metadata[number] == KeyRange(number, keys["min"], keys["max"])
        assert by_footers[number].key_range(number) == KeyRange(number, *bounds)
        assert 0 < by_footers[number].key_bytes < one.base_file.size


def test_filters_let_the_keys_through_and_hold_others_back(table: HudiTable) -> None:
    metadata, reader = table.metadata_indexes(), table.scan().reader()
    strangers = pa.array([f"nobody has this key {number}" for number in range(500)])
    for one in bases(table).values():
        assert one.base_file is not None
        keys = keys_of(table, one)
        stored = metadata.bloom_filter(one.base_file)
        of_footer = footer_filter(table.storage, resolve(table.base_path, one.base_file.relative_path))
        assert stored is not None
        assert of_footer is not None
        assert stored.to_base64() == of_footer.to_base64()
        assert len(possible(stored, keys)) == len(keys)
        assert len(possible(stored, strangers)) < 5
        asked = pa.concat_arrays([keys.slice(0, 2).cast(pa.string()), strangers])
        assert sorted(found_in_base(reader, one, asked).to_pylist()) == sorted(keys.slice(0, 2).to_pylist())


def test_nothing_is_known_without_a_metadata_table(table: HudiTable) -> None:
    slices, nothing = bases(table), IndexesOfMetadata()
    assert nothing.key_ranges(slices) == {}
    assert [nothing.bloom_filter(one.base_file) for one in slices.values() if one.base_file] == [None] * len(slices)
    assert len(possible(None, pa.array(["a"]))) == 1
