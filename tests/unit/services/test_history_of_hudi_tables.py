"""Tables that real Hudi wrote: saved, cleaned and archived by us they have the same rows, and taken back those
of the moment.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.core.table import HudiTable
from spark_jobs.options import ArchiveOptions, CleanOptions, JobState, RestoreOptions, SavepointOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

FIXTURES = Path(__file__).parents[2] / "fixtures"
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


def unzipped(name: str, folder: Path) -> Path:
    with zipfile.ZipFile(FIXTURES / f"{name}.zip") as archive:
        archive.extractall(folder)
    found = [one.parent for one in folder.rglob(".hoodie") if one.parent.name != "metadata"]
    return next(one for one in found if (one / ".hoodie/hoodie.properties").is_file())


def rows(path: Path, **query: Any) -> list[str]:
    table = HudiTable.open(str(path))
    names = [name for name in table.scan(**query).schema.names if name != "_hoodie_file_name"]
    return sorted(map(str, table.scan(columns=names, **query).to_arrow().to_pylist()))


@pytest.mark.parametrize("name", TABLES)
def test_services_keep_rows_and_a_restore_brings_them_back(name: str, tmp_path: Path) -> None:
    path = unzipped(name, tmp_path / "kept")
    before, known = rows(path), {str(one) for one in validate(str(path), deep=True)}
    assert run_savepoint(SavepointOptions(base_path=str(path)), job_context()).state is JobState.COMPLETED
    run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=ONE), job_context())
    run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=ONE), job_context())
    assert rows(path) == before
    assert {str(one) for one in validate(str(path), deep=True)} <= known

    path = unzipped(name, tmp_path / "restored")
    goal = HudiTable.open(str(path)).timeline.completed_commits()[TABLES[name]].timestamp
    expected = rows(path, as_of=goal)
    assert expected != before
    done = run_restore(RestoreOptions(base_path=str(path), instant_time=goal, verify="rows"), job_context())
    assert done.state is JobState.COMPLETED
    assert rows(path) == expected
    assert {str(one) for one in validate(str(path), deep=True)} <= known
