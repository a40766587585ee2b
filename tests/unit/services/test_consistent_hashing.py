"""Tables whose buckets split and merge are read and kept, and neither written nor clustered: their index names the file
groups of each partition, and Hudi neither reads nor writes the keys of others.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.core.errors import UnsupportedTableError
from spark_jobs.core.table import HudiTable
from spark_jobs.options import ClusteringOptions, CompactionOptions, JobState
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.validation.run import validate
from tests.hudi_tables import unpack
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

DUE = {"hoodie.compact.inline.max.delta.commits": "1"}
REFUSED = "CONSISTENT_HASHING .* which this release does not"


@pytest.fixture
def path(root: Folder) -> Folder:
    """Of real Hudi, with a plan to split four buckets, and writes to both the old and the new ones since."""
    unpack("log_tables/logs_resizing", root)
    return root / "logs_resizing"


@pytest.fixture
def table(path: Folder) -> HudiTable:
    return HudiTable.open(str(path), lake=path.lake)


@pytest.fixture
def unchanged(path: Folder) -> Callable[[], bool]:
    def names() -> list[str]:
        return sorted(map(str, path.walk()))

    before = names()
    return lambda: names() == before


@pytest.mark.parametrize("mode", ["schedule", "execute", "cancel"])
@pytest.mark.parametrize("dry_run", [False, True])
def test_clustering(path: Folder, mode: str, dry_run: bool, unchanged: Callable[[], bool]) -> None:
    options = ClusteringOptions(base_path=str(path), mode=mode, dry_run=dry_run)
    with pytest.raises(UnsupportedTableError, match=f"{REFUSED} cluster"):
        run_clustering(options, job_context(lake=path.lake))
    assert unchanged()


@pytest.mark.parametrize("operation", ["upsert", "insert", "bulk_insert", "delete", "insert_overwrite"])
def test_writes(table: HudiTable, operation: str, unchanged: Callable[[], bool]) -> None:
    rows = table.scan().to_arrow().slice(0, 1)
    rows = rows.select([name for name in rows.column_names if not name.startswith("_hoodie_")])
    with pytest.raises(UnsupportedTableError, match=f"{REFUSED} write"):
        getattr(table, operation)(rows)
    assert unchanged()


def test_deleted_partitions(table: HudiTable, unchanged: Callable[[], bool]) -> None:
    with pytest.raises(UnsupportedTableError, match=f"{REFUSED} write"):
        table.delete_partitions(["0"])
    assert unchanged()


def test_compaction_leaves_the_buckets_that_are_to_be_split(path: Folder, table: HudiTable) -> None:
    before = table.scan().to_arrow()
    done = run_compaction(CompactionOptions(base_path=str(path), hoodie_conf=DUE), job_context(lake=path.lake))
    assert done.state is JobState.NOTHING_TO_DO
    assert table.refreshed().scan().to_arrow().equals(before)
    assert [one for one in validate(str(path), lake=path.lake, deep=True) if one.is_error] == []
