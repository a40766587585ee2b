"""Tables that real Hudi wrote: saved, cleaned and archived by us they have the same rows, and taken back those
of the moment.
"""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.options import ArchiveOptions, CleanOptions, JobState, RestoreOptions, SavepointOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from tests.hudi_tables import unpack
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

ONE = {"hoodie.cleaner.commits.retained": "1", "hoodie.keep.min.commits": "1", "hoodie.keep.max.commits": "2"}
TABLES = {
    "tables/cow_upserts": 0,
    "tables/mor_logs": 0,
    "tables/mor_pending_compaction": 0,
    "log_tables/logs_compacted": 0,
    "log_tables/logs_rolled_back": 0,
    "metadata_tables/indexed_mor": 0,
    "schema_tables/altered_mor": 4,
}
"""The commit to go back to, by its place: the first of which cleaning left all."""


def rows(path: Folder, **query: Any) -> list[str]:
    table = path.table()
    names = [name for name in table.scan(**query).schema.names if name != "_hoodie_file_name"]
    return sorted(map(str, table.scan(columns=names, **query).to_arrow().to_pylist()))


@pytest.mark.parametrize("name", TABLES)
def test_services_keep_rows_and_a_restore_brings_them_back(name: str, root: Folder) -> None:
    path = unpack(name, root / "kept")
    before, known = rows(path), {str(one) for one in validate(str(path), deep=True, lake=path.lake)}
    assert run_savepoint(SavepointOptions(base_path=str(path)), job_context(lake=root.lake)).state is JobState.COMPLETED
    run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=ONE), job_context(lake=root.lake))
    run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=ONE), job_context(lake=root.lake))
    assert rows(path) == before
    assert {str(one) for one in validate(str(path), deep=True, lake=path.lake)} <= known

    path = unpack(name, root / "restored")
    goal = path.table().timeline.completed_commits()[TABLES[name]].timestamp
    expected = rows(path, as_of=goal)
    assert expected != before
    done = run_restore(
        RestoreOptions(base_path=str(path), instant_time=goal, verify="rows"), job_context(lake=root.lake)
    )
    assert done.state is JobState.COMPLETED
    assert rows(path) == expected
    assert {str(one) for one in validate(str(path), deep=True, lake=path.lake)} <= known
