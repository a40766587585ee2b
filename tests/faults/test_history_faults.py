"""Archival, cleans in parts, rollback of completed writes, savepoints and restore, broken at each of their storage
calls, then run again: the same end state.

In CI only those calls of cleans, rollback and restore are broken that change something; ``make all-faults`` breaks
their reads too, and all in every way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spark_jobs.core.format.instant import Action
from spark_jobs.core.timeline.archive_writer import archive as archive_now
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.restore import RestoreOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.options.savepoint import SavepointMode, SavepointOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint, savepoints_of
from tests.faults import local_table as local
from tests.faults.broken_calls import COW, FIRST, MOR, SECOND, THIRD, Case, two_commits, wrong_after_broken_calls
from tests.faults.faulty_storage import Fault
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7200)]

KEEP = {
    "hoodie.keep.min.commits": "1",
    "hoodie.keep.max.commits": "2",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.metadata.compact.max.delta.commits": "1",
    "hoodie.archive.merge.enable": "true",
    "hoodie.archive.merge.files.batch.size": "2",
    "hoodie.compact.inline.max.delta.commits": "1",
}


def commits(path: Folder) -> list[str]:
    return [one.timestamp for one in path.table().timeline.completed_commits()]


def archive(path: Folder) -> None:
    run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=KEEP), job_context(lake=path.lake))


def many_commits(path: Folder) -> None:
    """An archive file already, and four commits that may go; all in base files of the metadata table, which holds what
    it has in logs.
    """
    two_commits(path)
    for number in range(6):
        local.write(path, THIRD, f"third {number}")
        maintain_metadata_table(path.table().transaction_settings(KEEP), KEEP, pytest.fail)
        if number == 1:
            archive(path)
    look = run_archival(
        ArchiveOptions(base_path=str(path), hoodie_conf=KEEP, dry_run=True), job_context(lake=path.lake)
    )
    assert look.extra["archived"] == 4


def clean(path: Folder, **more: Any) -> JobResult:
    return run_cleaning(
        CleanOptions(base_path=str(path), hoodie_conf=local.AT_ONCE, **more), job_context(lake=path.lake)
    )


def planned_clean(path: Folder) -> None:
    three_commits(path)
    look = clean(path, dry_run=True)
    assert look.files_in == 2
    (path / "plan").write_text(look.extra["plan_hash"])


def clean_in_parts(path: Folder) -> None:
    """By the hash of its plan, and by a budget that one of the two files fits."""
    asked, runs = (path / "plan").read_text(), 1
    while clean(path, plan_hash=asked, max_bytes=5000, max_seconds=600).state is JobState.SCHEDULED:
        runs += 1
    assert runs <= 2
    timeline = path.table().timeline
    assert [one.is_completed for one in timeline.filter(lambda one: one.action is Action.CLEAN)] == [True]
    assert len([*path.glob("*/*.parquet")]) == 4


def undo_third(path: Folder) -> None:
    """By its time, so that a second run does not undo the commit before it."""
    (third,) = (path / "third").read_text().split()
    run_rollback(
        RollbackOptions(base_path=str(path), instant_time=third, hoodie_conf=local.AT_ONCE), job_context(lake=path.lake)
    )


def three_commits(path: Folder) -> None:
    two_commits(path)
    (path / "third").write_text(local.write(path, THIRD, "third"))


def save(path: Folder) -> None:
    first = commits(path)[0]
    run_savepoint(
        SavepointOptions(base_path=str(path), instant_time=first, hoodie_conf=local.AT_ONCE),
        job_context(lake=path.lake),
    )
    assert [one.instant for one in savepoints_of(path.table())] == [first]


def forget(path: Folder) -> None:
    options = SavepointOptions(
        base_path=str(path), mode=SavepointMode.DELETE, instant_time=commits(path)[0], hoodie_conf=local.AT_ONCE
    )
    run_savepoint(options, job_context(lake=path.lake))
    assert savepoints_of(path.table()) == []


def saved(path: Folder) -> None:
    two_commits(path)
    save(path)


def saved_and_passed(path: Folder) -> None:
    """Commits behind the savepoint are archived, as ``hoodie.archive.beyond.savepoint`` has it."""
    local.write(path, FIRST, "first")
    save(path)
    local.write(path, FIRST, "again")
    local.write(path, SECOND, "second")
    settings = path.table().transaction_settings(KEEP)
    maintain_metadata_table(settings, KEEP, pytest.fail)
    table = path.table()
    archive_now(table.timeline, table.base_path, table.timeline.completed_commits()[1:-1])


def forget_and_archive(path: Folder) -> None:
    saved = path.table().timeline.filter(lambda one: one.action is Action.SAVEPOINT)
    for one in saved:  # none where an earlier try was done but for its last answer
        options = SavepointOptions(
            base_path=str(path), mode=SavepointMode.DELETE, instant_time=one.timestamp, hoodie_conf=local.AT_ONCE
        )
        run_savepoint(options, job_context(lake=path.lake))
    assert len(commits(path)) == 1


def rewritten(service: Callable[[Folder], None]) -> Callable[[Folder], None]:
    """A savepoint of the first commit, then a write, a rewrite of all files, and a write on top."""

    def prepare(path: Folder) -> None:
        local.write(path, FIRST, "first")
        save(path)
        local.write(path, SECOND, "second")
        service(path)
        local.write(path, THIRD, "third")

    return prepare


def restore(path: Folder) -> None:
    options = RestoreOptions(base_path=str(path), savepoint=commits(path)[0], verify="rows", hoodie_conf=local.AT_ONCE)
    run_restore(options, job_context(lake=path.lake))


CASES = {
    "archival": Case(table_type=COW, prepare=many_commits, act=archive, expected=(FIRST, SECOND, THIRD)),
    "clean in parts": Case(table_type=COW, prepare=planned_clean, act=clean_in_parts, expected=(FIRST, SECOND, THIRD)),
    "rollback of a completed COW write": Case(
        table_type=COW, prepare=three_commits, act=undo_third, expected=(FIRST, SECOND)
    ),
    "rollback of a completed MOR write": Case(
        table_type=MOR, prepare=three_commits, act=undo_third, expected=(FIRST, SECOND)
    ),
    "savepoint": Case(table_type=COW, prepare=two_commits, act=save, expected=(FIRST, SECOND)),
    "deletion of a savepoint": Case(table_type=COW, prepare=saved, act=forget, expected=(FIRST, SECOND)),
    "deletion of a savepoint that keeps a commit": Case(
        table_type=MOR, prepare=saved_and_passed, act=forget_and_archive, expected=(FIRST, SECOND)
    ),
    "restore of a COW table": Case(table_type=COW, prepare=rewritten(local.cluster), act=restore, expected=(FIRST,)),
    "restore of a MOR table": Case(table_type=MOR, prepare=rewritten(local.compact), act=restore, expected=(FIRST,)),
}


IN_CI = {
    "archival": (Fault.DIE_BEFORE, Fault.LOSE_ANSWER),
    "clean": (Fault.DIE_BEFORE,),
    "restore": (Fault.DIE_BEFORE,),
    "rollback": (Fault.DIE_BEFORE, Fault.LOSE_ANSWER),
}
"""By the first word of their names: for those with many calls."""


@pytest.mark.parametrize("name", CASES)
def test_after_any_broken_call_a_rerun_gives_the_same(name: str, root: Folder) -> None:
    faults = IN_CI.get(name.split()[0], tuple(Fault))
    only_changes = name.split()[0] in IN_CI
    wrong = wrong_after_broken_calls(CASES[name], root, faults, only_changes=only_changes)
    assert not wrong, "\n".join(wrong)
