"""A metadata table whose compaction is planned and not done: all its partitions are read as before."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.timeline.plans.rewriting import PlannedSlice, RequestedCompaction
from spark_jobs.services.validation.run import validate
from tests.support.folder import Folder
from tests.support.payloads import stored
from tests.unit.core.metadata_table.agreement import disagreements, metadata_table_of
from tests.unit.core.metadata_table.conftest import unpacked

pytestmark = pytest.mark.unit


@pytest.fixture
def planned(root: Folder) -> Folder:
    """A table of Hudi's with four partitions in its metadata table, each of which has a slice in the plan."""
    path = unpacked("indexed_mor", root)
    table = metadata_table_of(path)
    slices = tuple(
        PlannedSlice(
            partition=one.partition,
            file_id=one.file_id,
            base_instant=one.base_instant,
            base_file="" if one.base_file is None else str(one.base_file.name),
            log_files=tuple(str(log.name) for log in one.log_files),
        )
        for partition in MetadataPartition
        if path.table().config.lists(partition)
        for one in table.slices(partition)
        if one.log_files
    )
    assert len({one.partition for one in slices}) > 1
    last = table.timeline.last_completed()
    assert last is not None
    plan = Instant(f"{last.timestamp}001", Action.COMPACTION, State.REQUESTED)
    file = path / ".hoodie/metadata/.hoodie" / table.timeline.format.file_name(plan)
    file.write_bytes(stored(RequestedCompaction(slices=slices).payload()))
    return path


def test_every_partition_is_read(planned: Folder) -> None:
    table = metadata_table_of(planned)
    assert len(table.pending_compactions) == 1
    for partition in MetadataPartition:
        if planned.table().config.lists(partition):
            assert table.slices(partition)
    assert disagreements(planned) == []
    assert [str(one) for one in validate(str(planned), lake=planned.lake, deep=True)] == []
