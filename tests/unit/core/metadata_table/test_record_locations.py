"""The record index of tables that Hudi wrote: read as a whole, by key, and shard by shard."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.metadata_table.record_cells import RECORD_LOCATIONS, RecordLocation, instant_of, millis_of
from spark_jobs.core.metadata_table.record_locations import LOCATION_SCHEMA, RecordIndex
from spark_jobs.core.metadata_table.schema import STORED_TEXT
from tests.support.folder import Folder
from tests.unit.core.metadata_table.agreement import metadata_table_of

pytestmark = pytest.mark.unit


def index_of(path: Folder) -> RecordIndex:
    return RecordIndex.of(metadata_table_of(path))


def test_hudis_index_names_the_file_group_of_each_row(indexed_table: Folder) -> None:
    located = {one["key"]: one for one in index_of(indexed_table).read_all().to_pylist()}
    columns = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
    rows = indexed_table.table().scan(columns=columns).to_arrow().to_pylist()
    assert len(rows) == len(located) > 50
    for row in rows:
        found = located[row["_hoodie_record_key"]]
        assert found["partition"] == row["_hoodie_partition_path"]
        assert row["_hoodie_file_name"].startswith(found["file_id"])


def test_keys_are_looked_up_alone_and_together(indexed_table: Folder) -> None:
    index = index_of(indexed_table)
    everything = index.read_all().sort_by("key")
    keys = everything.column("key").combine_chunks()
    assert index.locations(keys).sort_by("key") == everything
    for key in (keys[0].as_py(), keys[-1].as_py()):
        assert index.locations(pa.array([key, "no such key", key])) == everything.filter(pc.field("key") == key)
    assert index.locations(pa.array([], pa.string())) == LOCATION_SCHEMA.empty_table()
    assert index.locations(pa.array(["é", "no such key"])).num_rows == 0


def test_a_shard_is_read_where_it_was_sent_to(indexed_table: Folder) -> None:
    index = index_of(indexed_table)
    everything = index.read_all()
    keys = everything.column("key").combine_chunks()
    numbers = index.shard_numbers(keys)
    found = []
    for number, shard in enumerate(index.shards):
        mine = keys.filter(pa.array(numbers == number))
        found.append(pickle.loads(pickle.dumps(shard)).locations(mine))
        assert found[-1].num_rows == len(mine)
    assert pa.concat_tables(found).sort_by("key") == everything.sort_by("key")


def test_a_table_without_an_index_has_none(indexed_table: Folder) -> None:
    table = indexed_table.table()
    opened = RecordIndex.open(table.storage, table.base_path, table.config, table.timeline, table.clock)
    assert opened is not None
    for base in (indexed_table / ".hoodie/metadata/record_index").iterdir():
        base.unlink()
    with pytest.raises(CorruptTableError, match="record_index"):
        RecordIndex.open(table.storage, table.base_path, table.config, table.timeline, table.clock)


@pytest.mark.parametrize(
    "file_id",
    [
        "4054735e-afe6-4c84-a3fe-85d8df80b34d-0",
        "f054735e-afe6-4c84-a3fe-85d8df80b34d-17",
        "00000000-0000-0000-0000-000000000000",
        "00000003-afe6-4c84-a3fe-85d8df80b34d-0-extra",
        "no uuid at all",
        "4054735E-AFE6-4C84-A3FE-85D8DF80B34D-0",
        "4054735e-afe6-4c84-a3fe-85d8df80b34d-07",
    ],
)
def test_any_file_id_comes_back(file_id: str) -> None:
    one = RecordLocation(partition="p=a/b", file_id=file_id, instant="20240102030405678")
    cell = RECORD_LOCATIONS.encode("some key", one)
    assert RECORD_LOCATIONS.decode(cell, STORED_TEXT, "a cell") == one


def test_instants_are_moments_of_this_machine() -> None:
    assert instant_of(millis_of("20240102030405678")) == "20240102030405678"
    assert instant_of(millis_of("20240102030405")) == "20240102030405999"
    with pytest.raises(CorruptTableError, match="none"):
        instant_of(1 << 60)
