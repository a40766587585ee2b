"""Archival of small tables: what goes, what it must not pass, and that readers don't notice."""

from __future__ import annotations

import io

import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.engine.progress import Progress
from spark_jobs.options import (
    ClusteringOptions,
    JobState,
    SavepointOptions,
)
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.upkeep import maintain_table
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.core.metadata_table.agreement import disagreements
from tests.unit.services.archived import KEEP, active, archive, clean, compact_metadata

pytestmark = pytest.mark.unit


def written(path: Folder, count: int, table_type: str = "COPY_ON_WRITE", *, metadata: bool = True) -> list[str]:
    local.create(path, table_type)
    times = []
    for number in range(count):
        times.append(local.write(path, local.batch(number, 10, f"v{number}", number), str(number)))
        if metadata:
            compact_metadata(path)
    return times


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_old_commits_go_and_readers_do_not_notice(root: Folder, table_type: str) -> None:
    path = root / "t"
    times = written(path, 6, table_type)
    many = {"hoodie.compact.inline.max.delta.commits": "2"}
    before, as_of = local.rows_of(path), path.table().scan(as_of=times[1]).to_arrow()
    look = archive(path, many, dry_run=True)
    assert look.extra["estimated_seconds"] > 0
    assert look.state is JobState.DRY_RUN
    assert active(path) == times
    assert [one["instant"] for one in (look.plan or {})["instants"]] == times[:4]
    done = archive(path, many, plan_hash=look.extra["plan_hash"])
    assert (done.state, done.extra["archived"], done.files_in) == (JobState.COMPLETED, 4, 12)
    assert active(path) == times[4:]
    assert local.rows_of(path) == before
    table = path.table()
    assert table.scan(as_of=times[1]).to_arrow().sort_by("id").equals(as_of.sort_by("id"))
    since = table.scan(query="incremental", begin=times[0], columns=["_hoodie_commit_time"]).to_arrow()
    assert min(since.column(0).to_pylist()) == times[1]
    assert [one.timestamp for one in table.archived_timeline().completed(Action(table.timeline.instants[-1].action))]
    assert validate(str(path), deep=True, lake=path.lake) == []
    assert disagreements(path) == []
    assert "2 completed commit(s)" in str(archive(path, many).reason)


def test_a_plan_that_changed_is_refused(root: Folder) -> None:
    path = root / "t"
    written(path, 4)
    asked = archive(path, dry_run=True).extra["plan_hash"]
    local.write(path, local.batch(0, 4, "more", 9), "more")
    compact_metadata(path)
    with pytest.raises(WriteConflictError, match="the plan is not"):
        archive(path, plan_hash=asked)
    assert len(active(path)) == 5


def test_the_metadata_table_holds_what_it_has_not_compacted(root: Folder) -> None:
    path = root / "t"
    written(path, 4, metadata=False)
    assert "the metadata table, which was not compacted yet, keeps all" in str(archive(path).reason)
    compact_metadata(path)
    assert archive(path).extra["archived"] == 2


def test_the_last_clean_and_a_savepoint_hold(root: Folder) -> None:
    path = root / "t"
    times = written(path, 3)
    assert clean(path).state is JobState.COMPLETED  # retains from the third commit on
    for number in range(3, 7):
        local.write(path, local.batch(number, 10, "v", number), str(number))
        compact_metadata(path)
    done = archive(path)
    assert (done.extra["archived"], "which retains from" in done.extra["held_by"]) == (2, True)
    assert active(path)[0] == times[2]
    assert "clean again" in str(archive(path).reason)
    saved = active(path)[1]
    run_savepoint(SavepointOptions(base_path=str(path), instant_time=saved), job_context(lake=root.lake))
    clean(path)
    done = archive(path)
    assert (done.extra["archived"], done.extra["held_by"]) == (1, f"savepoint {saved}")
    beyond = archive(path, {"hoodie.archive.beyond.savepoint": "true"})
    assert beyond.extra["archived"] == 1  # the newest stay, saved or not
    assert active(path)[0] == saved
    assert validate(str(path), deep=True, lake=path.lake) == []


def test_rows_that_were_archived_behind_a_savepoint_are_seen(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    times = [local.write(path, local.batch(8 * number, 8, "v", 1), str(number)) for number in range(6)]
    compact_metadata(path)
    run_savepoint(SavepointOptions(base_path=str(path), instant_time=times[1]), job_context(lake=root.lake))
    archive(path, {"hoodie.archive.beyond.savepoint": "true"})
    assert active(path)[0] == times[1]
    assert times[2] not in active(path)
    assert len(local.rows_of(path)) == 48
    by_storage = path.table(lists_storage=True)
    assert by_storage.scan().to_arrow().num_rows == 48
    assert validate(str(path), deep=True, lake=path.lake) == []
    local.write(path, local.batch(0, 48, "again", 2), "again")
    assert len(local.rows_of(path)) == 48


def test_a_pending_write_holds(root: Folder) -> None:
    path = root / "t"
    times = written(path, 3)
    local.begin_and_leave(path, local.batch(0, 4, "never", 9))  # the heartbeat of this very process keeps it pending
    for number in range(3):
        local.write(path, local.batch(40 + 4 * number, 4, "new", 9), f"new {number}")
    (pending,) = path.table().timeline.pending_writes()
    assert f"held back by {pending}, which is pending" in str(archive(path).reason)
    by_versions = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS"}
    held = archive(path, by_versions)
    assert held.extra["held_by"].endswith("which is pending") or "metadata table" in held.extra["held_by"]
    assert active(path)[0] >= times[1]


def test_a_replace_commit_stays_until_its_files_are_cleaned(root: Folder) -> None:
    path = root / "t"
    written(path, 1)
    at_once = {"hoodie.clustering.async.max.commits": "1"}
    run_clustering(ClusteringOptions(base_path=str(path), hoodie_conf=at_once), job_context(lake=root.lake))
    replaced = active(path)[-1]
    for number in range(5):
        local.write(path, local.batch(0, 4, "w", 10 + number), f"w{number}")
        compact_metadata(path)
    rows = local.rows_of(path)
    done = archive(path)
    assert (done.extra["archived"], f"replace commit {replaced}" in done.extra["held_by"]) == (1, True)
    assert active(path)[0] == replaced
    assert local.rows_of(path) == rows
    clean(path)
    compact_metadata(path)
    assert archive(path).state is JobState.COMPLETED
    assert replaced not in active(path)
    assert local.rows_of(path) == rows
    assert validate(str(path), deep=True, lake=path.lake) == []


def test_small_archive_files_are_merged_where_that_is_asked_for(root: Folder) -> None:
    path = root / "t"
    written(path, 4)
    archive(path)
    for number in range(4, 6):
        local.write(path, local.batch(number, 10, "v", number), str(number))
        compact_metadata(path)
    merge = {"hoodie.archive.merge.enable": "true", "hoodie.archive.merge.files.batch.size": "2"}
    done = archive(path, merge)
    assert done.extra["merged_into"]
    assert [one.name for one in (path / ".hoodie/archived").iterdir()] == [Folder(done.extra["merged_into"]).name]
    assert len(path.table().archived_timeline().instants) == 4


def test_a_commit_cleans_and_archives_only_where_it_is_told_to(root: Folder) -> None:
    path = root / "t"
    times = written(path, 4)
    settings = path.table().transaction_settings(KEEP)
    told = io.StringIO()
    progress = Progress("write", stream=told)
    maintain_table(settings, KEEP, progress)
    assert (told.getvalue(), active(path)) == ("", times)
    automatic = {**KEEP, "hoodie.clean.automatic": "true", "hoodie.archive.automatic": "true"}
    maintain_table(settings, {**automatic, "hoodie.clean.async": "true"}, progress)
    assert [line.partition(" after")[0] for line in told.getvalue().splitlines()] == ["write: archive"]
    assert active(path) == times[2:]
    maintain_table(settings, automatic, progress)
    assert [line.partition(" after")[0] for line in told.getvalue().splitlines()] == ["write: archive", "write: clean"]
    maintain_table(settings, {**automatic, "hoodie.keep.min.commits": "9"}, progress)
    assert (
        told.getvalue()
        .splitlines()[-1]
        .startswith("write: warning: archive after the commit failed (hoodie.keep.min.commits=9")
    )
