"""An index of the metadata table that lost a file group answers nothing, rather than for the wrong keys."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.v6.metadata import METADATA
from spark_jobs.core.metadata_table.record_locations import RecordIndex
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.unit.core.metadata_table.agreement import metadata_table_of

pytestmark = pytest.mark.unit

ROWS = local.batch(0, 40, "one", 1)
INDEXES = {
    f"hoodie.metadata.{name}.enable": "true" for name in ("record.index", "index.column.stats", "index.bloom.filter")
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    path = Folder(str(tmp_path_factory.mktemp("indexed"))) / "t"
    local.create(path, "COPY_ON_WRITE")
    with pytest.MonkeyPatch.context() as patch:
        for key, value in INDEXES.items():
            patch.setitem(local.AT_ONCE, key, value)
        local.write(path, ROWS, "first")
    return path


@pytest.fixture
def path(indexed: Folder, root: Folder) -> Folder:
    return indexed.copy_to(root / "t")


def _lose(path: Folder, partition: MetadataPartition, number: int) -> None:
    file_id = METADATA.file_id(partition, number)
    for one in (path / ".hoodie/metadata" / METADATA.path(partition)).glob(f"*{file_id}_*"):
        one.unlink()


def _known_keys(path: Folder) -> int:
    table = path.table()
    index = RecordIndex.open(table.storage, table.base_path, table.config, table.timeline, table.clock)
    assert index is not None
    return len(index.locations(pa.array([str(one) for one in range(ROWS.num_rows)])))


@pytest.mark.parametrize("number", [0, 3, 9], ids=["first", "middle", "last"])
def test_a_record_index_without_a_file_group_knows_no_key_for_new(path: Folder, number: int) -> None:
    assert _known_keys(path) == ROWS.num_rows
    _lose(path, MetadataPartition.RECORD_INDEX, number)
    with pytest.raises(CorruptTableError, match=f"record-index-{number:04d}-0 of partition record_index .* is gone"):
        _known_keys(path)


@pytest.mark.parametrize(
    "partition", [MetadataPartition.RECORD_INDEX, MetadataPartition.COLUMN_STATS, MetadataPartition.BLOOM_FILTERS]
)
def test_a_lost_file_group_is_found_and_made_anew_by_the_next_write(
    path: Folder, partition: MetadataPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert validate(str(path), lake=path.lake) == []
    _lose(path, partition, 1)
    assert [(one.severity, one.path) for one in validate(str(path), lake=path.lake)] == [
        ("ERROR", f".hoodie/metadata/{METADATA.path(partition)}")
    ]
    for key, value in INDEXES.items():
        monkeypatch.setitem(local.AT_ONCE, key, value)
    local.write(path, local.batch(40, 40, "two", 2), "second")
    assert validate(str(path), lake=path.lake) == []
    assert metadata_table_of(path).slices(partition)
    assert _known_keys(path) == ROWS.num_rows
