"""A partition with the name of the metadata table's list of partitions: such a table has no metadata table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.keys.table import METADATA_PARTITIONS
from spark_jobs.core.config.table_config import read_table_config
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.keygen import keys as key_texts
from spark_jobs.core.metadata_table.changes import encode_changes
from spark_jobs.core.metadata_table.commit import commit_changes
from spark_jobs.core.metadata_table.partition_changes import PartitionChanges
from spark_jobs.core.metadata_table.records import ALL_PARTITIONS, FileEntry
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.unit.core.metadata_table.agreement import metadata_table_of

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def with_metadata_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "true")


def listed(path: Folder) -> tuple[str, ...]:
    return read_table_config(path.storage, str(path), SYSTEM_CLOCK).metadata_partitions


@pytest.mark.parametrize("first", [True, False])
def test_its_rows_are_found_and_updated(root: Folder, monkeypatch: pytest.MonkeyPatch, first: bool) -> None:
    """A writer that does not refuse it stands for another program."""
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    if not first:
        local.write(path, local.batch(4, 2, "v0", 1), "k0")
        assert listed(path) == ("files",)
    monkeypatch.setattr(local, "PARTITIONS", (ALL_PARTITIONS, "b"))
    monkeypatch.setattr(key_texts, "RESERVED_PATH", "")
    batches = [local.batch(6, 4, "v1", 1), local.batch(6, 2, "v2", 2)]
    for number, rows in enumerate(batches):
        local.write(path, rows, f"k{number + 1}")
        assert listed(path) == ()
        assert not (path / ".hoodie/metadata").exists()
    rows = path.table().scan().to_arrow()
    found = {one: text for one, text in zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True) if one > 5}
    assert found == {6: "v2", 7: "v2", 8: "v1", 9: "v1"}
    assert rows.num_rows == (4 if first else 6)


def test_a_list_that_such_a_partition_overwrote_is_not_believed(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    local.write(path, local.batch(0, 4, "v1", 1), "k1")
    table = metadata_table_of(path)
    changes = PartitionChanges.of(encode_changes({ALL_PARTITIONS: {"f-0_0-1-2_1.parquet": FileEntry(5)}}))
    commit_changes(table, table.data_timeline.instants[-1].timestamp + "010", {MetadataPartition.FILES: changes})
    opened = path.table()
    assert METADATA_PARTITIONS.of(opened.config.properties) == ("files",)
    assert opened.partitions() == ["a", "b"]
    assert replace(opened, lists_storage=True).partitions() == ["a", "b"]
