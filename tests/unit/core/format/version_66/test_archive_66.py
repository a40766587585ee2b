"""Archives of another form: what reads, merges, checks and asks them works on it."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import State
from spark_jobs.options import ArchiveOptions, JobResult, JobState, RestoreOptions, SavepointOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from spark_jobs.write.once import completed_write
from tests.faults import local_table
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.core.format.version_66.tables import TYPES, create, fail, values, write

pytestmark = pytest.mark.unit

FEW = {
    **local_table.AT_ONCE,
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.metadata.compact.max.delta.commits": "1",
}


def archive(path: Folder, **more: str) -> JobResult:
    conf = {**FEW, **more}
    maintain_metadata_table(path.table().transaction_settings(conf), conf, lambda line: None)
    return run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=conf), job_context(lake=path.lake))


def archived_files(path: Folder) -> list[str]:
    assert not list(path.rglob("*.commits_.archive*"))
    return sorted(one.name for one in (path / ".hoodie/history/old").iterdir())


@pytest.mark.parametrize("table_type", TYPES)
def test_queries_and_checks_over_archived_instants(root: Folder, table_type: str) -> None:
    path = root / "t"
    create(path, table_type)
    times = [write(path, version) for version in range(1, 4)]
    fail(path)
    local_table.roll_back(path)
    times += [write(path, version) for version in range(4, 6)]
    archive(path)
    assert archived_files(path) == ["gone-0001.lines"]
    table = path.table()
    assert [one.timestamp for one in table.timeline.completed_commits()] == times[3:]
    archived = table.archived_timeline()
    assert [one.timestamp for one in archived.instants] == times[:3]
    assert all(one.completed_at for one in archived.instants)
    assert archived.commit_metadata(archived.instants[0]).idempotency_key == "write 1"
    assert [values(table.scan(as_of=one)) for one in times] == [{f"v{one}"} for one in range(1, 6)]
    for begin, end in ((0, 1), (1, 4)):
        scan = table.scan(begin=times[begin], end=times[end], query="incremental")
        assert values(scan) == {f"v{end + 1}"}
    done = completed_write(table.timeline, "write 2", table.clock)
    assert done is not None
    assert done[0].timestamp == times[1]
    assert local_table.problems_of(path) == []
    assert validate(str(path), deep=True, lake=path.lake) == []


@pytest.mark.parametrize("table_type", TYPES)
def test_small_files_of_the_archive_become_one(root: Folder, table_type: str) -> None:
    path = root / "t"
    create(path, table_type)
    times: list[str] = []
    for number in range(3):
        times += [write(path, 2 * number + one) for one in (1, 2)]
        if number:
            archive(path)
    assert archived_files(path) == ["gone-0001.lines", "gone-0002.lines"]
    stale = path.table()
    before = stale.archived_timeline()
    broken = (path / ".hoodie/history/old/gone-0001.lines").read_bytes()
    merge = {"hoodie.archive.merge.enable": "true", "hoodie.archive.merge.files.batch.size": "2"}
    assert archive(path, **merge).extra["merged_files"] == 2
    assert archived_files(path) == ["gone-0003.lines"]
    assert stale.timeline.archive.has(times[0]), "it was listed before its file went"
    after = path.table().archived_timeline()
    assert after.instants == before.instants
    assert [after.payload(one) for one in after.states if one.state is State.REQUESTED] == [
        before.payload(one) for one in before.states if one.state is State.REQUESTED
    ]

    (path / ".hoodie/history/old/gone-0001.lines").write_bytes(broken)  # as a merge leaves it that dies
    assert path.table().archived_timeline().instants == before.instants
    assert archive(path, **merge).state is JobState.COMPLETED
    assert archived_files(path) == ["gone-0003.lines"]
    assert validate(str(path), deep=True, lake=path.lake) == []


@pytest.mark.parametrize("table_type", TYPES)
def test_the_way_back_behind_archived_instants(root: Folder, table_type: str) -> None:
    path = root / "t"
    create(path, table_type)
    times = [write(path, version) for version in range(1, 6)]
    run_savepoint(SavepointOptions(base_path=str(path), instant_time=times[3]), job_context(lake=root.lake))
    archive(path)
    assert path.table().archived_timeline().instants
    run_restore(RestoreOptions(base_path=str(path), instant_time=times[3], verify="rows"), job_context(lake=root.lake))
    assert values(path.table().scan()) == {"v4"}
    with pytest.raises(ConfigError, match=times[0]):
        run_restore(RestoreOptions(base_path=str(path), instant_time=times[0]), job_context(lake=root.lake))
    assert validate(str(path), deep=True, lake=path.lake) == []


def test_damage_is_reported(root: Folder) -> None:
    path = root / "t"
    create(path, "COPY_ON_WRITE")
    for version in range(1, 6):
        write(path, version)
    archive(path)
    (path / ".hoodie/history/old/gone-0001.lines").write_bytes(b"no lines")
    assert any("is no archive" in finding.what for finding in validate(str(path), lake=path.lake))
