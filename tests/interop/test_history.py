"""Savepoints, restores, rollbacks, cleans and archivals of ours and of Hudi on one table, in turn; and on two copies of
one table, where both have to come to the same.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.core.clock import SystemClock
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload
from spark_jobs.options import (
    ArchiveOptions,
    CleanOptions,
    JobResult,
    JobState,
    RestoreOptions,
    RollbackOptions,
    SavepointOptions,
)
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint, savepoints_of
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.interop.real_hudi import RealHudi
from tests.interop.tending import assert_hudi_validates
from tests.support.jobs import job_context
from tests.unit.core.metadata_table.agreement import disagreements

pytestmark = pytest.mark.interop

TYPES = pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
KEY_GENERATOR = "org.apache.hudi.keygen.SimpleKeyGenerator"


def create(path: Path, table_type: str) -> None:
    HudiTable.create(
        str(path),
        name="t",
        table_type=table_type,
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        key_generator_class=KEY_GENERATOR,
    )


def copy_of(path: Path, name: str) -> Path:
    """Of the same name, since Hudi's timeline files hold whole paths: the copy takes the place of the original."""
    return Path(shutil.copytree(path, path.with_name(name)))


def put_back(kept: Path, path: Path) -> None:
    shutil.rmtree(path)
    shutil.copytree(kept, path)


def write_by_hudi(hudi: RealHudi, path: Path, rows: Any, **options: str) -> str:
    table_type = HudiTable.open(str(path)).config.table_type
    given = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": str(table_type),
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
        **options,
    }
    hudi.write(path, rows, "upsert", given)
    return commits(path)[-1]


def commits(path: Path) -> list[str]:
    return [one.timestamp for one in HudiTable.open(str(path)).timeline.completed_commits()]


def files(path: Path) -> set[str]:
    found = (one.relative_to(path).as_posix() for one in path.rglob("*") if one.is_file())
    return {one for one in found if not one.startswith(".hoodie/") and not one.endswith(".crc")}


def agree(hudi: RealHudi, path: Path, when: str, *batches: Any, rows_by_hudi: bool = True) -> None:
    """Rows by both, the listings of both, and what our validation says."""
    expected = local.expected_rows(*batches)
    assert local.rows_of(path) == expected, when
    if rows_by_hudi:
        found = hudi.read(path, options={"hoodie.metadata.enable": "true"})
        names = ["_hoodie_record_key", "_hoodie_partition_path", *local.SCHEMA.names]
        rows = zip(*(found.column(name).to_pylist() for name in names), strict=True)
        assert sorted(rows) == expected, f"Hudi, {when}"
    by_metadata, by_storage = (hudi.files(path, metadata=each) for each in (True, False))
    assert {key: set(names) for key, names in by_metadata.items()} == {
        key: set(names) for key, names in by_storage.items()
    }, when
    assert disagreements(path) == [], when
    assert [str(one) for one in validate(str(path), deep=True)] == [], when


@TYPES
def test_both_go_on_after_each_others_savepoints_restores_and_rollbacks(
    tmp_path: Path, real_hudi: RealHudi, table_type: str
) -> None:
    path, hudi = tmp_path / "t", real_hudi
    create(path, table_type)
    batches = [local.batch(0, 20, "one", 1), local.batch(0, 10, "two", 2)]
    local.write(path, batches[0], "one")
    write_by_hudi(hudi, path, batches[1])

    saved = commits(path)[-1]
    kept = copy_of(path, "kept")
    hudi.ask("savepoint", path=str(path), instant=saved)
    (of_hudi,) = savepoints_of(HudiTable.open(str(path)))
    put_back(kept, path)
    run_savepoint(SavepointOptions(base_path=str(path), user="us"), job_context())
    (ours,) = savepoints_of(HudiTable.open(str(path)))
    assert (ours.instant, ours.keeps.names) == (of_hudi.instant, of_hudi.keeps.names)

    third = local.batch(4, 10, "three", 3)
    write_by_hudi(hudi, path, third)
    rewrite = local.compact if table_type == "MERGE_ON_READ" else local.cluster
    rewrite(path)
    local.write(path, local.batch(0, 24, "four", 4), "four")
    later = copy_of(path, "later")

    restore = RestoreOptions(base_path=str(path), savepoint=saved, verify="rows", hoodie_conf=local.AT_ONCE)
    done = run_restore(restore, job_context())
    assert len(done.extra["undone"]) == 3
    agree(hudi, path, "after our restore", *batches)
    left = files(path)
    write_by_hudi(hudi, path, third)
    agree(hudi, path, "after Hudi's write on our restore", *batches, third)

    put_back(later, path)
    hudi.ask("restore", path=str(path), instant=saved)
    assert commits(path)[-1] == saved
    assert {name for name in files(path) if ".log." not in name} == {name for name in left if ".log." not in name}
    agree(hudi, path, "after Hudi's restore to our savepoint", *batches)
    local.write(path, third, "again")
    agree(hudi, path, "after our write on Hudi's restore", *batches, third)

    last = commits(path)[-1]
    before = copy_of(path, "before")
    assert hudi.rollback(path, last)
    of_hudi_left = files(path)
    agree(hudi, path, "after Hudi's rollback of our write", *batches)
    put_back(before, path)
    run_rollback(RollbackOptions(base_path=str(path), instant_time=last), job_context())
    assert len(files(path)) == len(of_hudi_left)
    agree(hudi, path, "after our rollback of a completed write", *batches)
    fourth = local.batch(10, 20, "five", 5)
    theirs = write_by_hudi(hudi, path, fourth)
    agree(hudi, path, "after Hudi's write on our rollback", *batches, fourth)
    run_rollback(RollbackOptions(base_path=str(path), instant_time=theirs), job_context())
    agree(hudi, path, "after our rollback of Hudi's write", *batches)
    hudi.ask("delete_savepoint", path=str(path), instant=saved)
    assert savepoints_of(HudiTable.open(str(path))) == []
    write_by_hudi(hudi, path, third)
    agree(hudi, path, "at the end", *batches, third)


@contextmanager
def hours_ago(hours: int) -> Iterator[None]:
    """Our writes take their instants from a clock that is slow."""
    now = SystemClock.now

    def earlier(clock: SystemClock) -> datetime:
        return now(clock) - timedelta(hours=hours)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SystemClock, "now", earlier)
        yield


POLICIES = {
    "commits": {"hoodie.cleaner.policy": "KEEP_LATEST_COMMITS", "hoodie.cleaner.commits.retained": "1"},
    "versions": {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"},
    "hours": {"hoodie.cleaner.policy": "KEEP_LATEST_BY_HOURS", "hoodie.cleaner.hours.retained": "2"},
}


def newest_clean(path: Path) -> dict[str, Any]:
    timeline = HudiTable.open(str(path)).timeline
    (*_, last) = timeline.completed(Action.CLEAN)
    return decode_payload(timeline.read(last.at(State.REQUESTED)), "plan")


def decided(plan: dict[str, Any]) -> dict[str, Any]:
    """What of a clean's plan says what it does: Hudi lists partitions without files too."""
    deleted = {
        partition: sorted(one["filePath"].rsplit("/", 1)[-1] for one in files)
        for partition, files in plan["filePathsToBeDeletedPerPartition"].items()
        if files
    }
    names = ("earliestInstantToRetain", "lastCompletedCommitTimestamp", "policy", "version")
    return {
        "deleted": deleted,
        "partitions": sorted(plan["partitionsToBeDeleted"] or []),
        "spared": (plan["extraMetadata"] or {}).get("savepointed_timestamps"),
        **{name: plan[name] for name in names},
    }


def clean_by_both(hudi: RealHudi, path: Path, policy: dict[str, str]) -> JobResult:
    """Hudi cleans the table, then we the same one as it was before: both plans have to be equal."""
    before = copy_of(path, "before")
    assert hudi.clean(path, options=policy) > 0
    theirs = decided(newest_clean(path))
    put_back(before, path)
    shutil.rmtree(before)
    done = run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=policy), job_context())
    assert decided(newest_clean(path)) == theirs
    return done


def test_hudi_ends_a_clean_that_our_budget_left(tmp_path: Path, real_hudi: RealHudi) -> None:
    path, hudi = tmp_path / "t", real_hudi
    create(path, "COPY_ON_WRITE")
    batches = [local.batch(0, 8, f"v{ts}", ts) for ts in range(1, 5)]
    for number, each in enumerate(batches):
        local.write(path, each, str(number))
    options = CleanOptions(base_path=str(path), hoodie_conf=POLICIES["commits"], dry_run=True)
    planned = run_cleaning(options, job_context())
    part = run_cleaning(replace(options, dry_run=False, max_bytes=planned.bytes_in // 2), job_context())
    assert (part.state, part.extra["gone_before"]) == (JobState.SCHEDULED, 0)
    assert hudi.clean(path, options=POLICIES["commits"]) == part.extra["left_files"] > 0
    (done,) = HudiTable.open(str(path)).timeline.completed(Action.CLEAN)
    assert done.timestamp == part.instant
    assert len(files(path)) == len(list(path.glob("*/.hoodie_partition_metadata"))) + 2 * 2
    agree(hudi, path, "after Hudi ended our clean", *batches, rows_by_hudi=False)


@TYPES
@pytest.mark.parametrize("policy", POLICIES)
def test_we_clean_what_hudi_cleans(tmp_path: Path, real_hudi: RealHudi, table_type: str, policy: str) -> None:
    path, hudi = tmp_path / "t", real_hudi
    create(path, table_type)
    batches = [local.batch(0, 20, f"v{number}", number) for number in range(3)]
    is_mor = table_type == "MERGE_ON_READ"
    with hours_ago(4):
        for number, rows in enumerate(batches):
            local.write(path, rows, f"v{number}")
            if is_mor:
                local.compact(path)
            if number == 0:
                run_savepoint(SavepointOptions(base_path=str(path)), job_context())
    with hours_ago(0):
        batches.append(local.batch(0, 20, "now", 7))
        local.write(path, batches[-1], "now")
        if is_mor:
            local.compact(path)
    clean_by_both(hudi, path, POLICIES[policy])
    agree(hudi, path, "after our clean", *batches)

    # from here on only what changed since: one of the two partitions
    for number in range(2):
        batches.append(local.batch(0, 1, f"a{number}", 10 + number))
        write_by_hudi(hudi, path, batches[-1])
        if is_mor:
            local.compact(path)
    if policy != "hours":
        clean_by_both(hudi, path, POLICIES[policy])
        agree(hudi, path, "after our second clean", *batches)
        write_by_hudi(hudi, path, batches[-1])
        assert hudi.clean(path, options=POLICIES[policy]) >= 0
        agree(hudi, path, "after Hudi's clean on ours", *batches)


@TYPES
def test_we_archive_what_hudi_archives(tmp_path: Path, real_hudi: RealHudi, table_type: str) -> None:
    path, hudi = tmp_path / "t", real_hudi
    create(path, table_type)
    keep = {
        "hoodie.keep.min.commits": "3",
        "hoodie.keep.max.commits": "4",
        "hoodie.cleaner.commits.retained": "1",
        "hoodie.metadata.compact.max.delta.commits": "3",
        "hoodie.metadata.enable": "true",
    }
    batches = [local.batch(number, 10, f"v{number}", number) for number in range(7)]
    for number, rows in enumerate(batches):
        local.write(path, rows, f"v{number}")
        if table_type == "MERGE_ON_READ" and number in (2, 4):
            local.compact(path)
        maintain_metadata_table(HudiTable.open(str(path)).transaction_settings(keep), keep, pytest.fail)
    run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=keep), job_context())
    before = copy_of(path, "before")
    hudi.ask("archive", path=str(path), options=keep)
    theirs = commits(path)
    archived = {(one["instant"], one["state"]) for one in hudi.ask("archived", path=str(path))}
    put_back(before, path)
    assert run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=keep), job_context()).extra["archived"] > 0
    assert commits(path) == theirs
    assert {(one["instant"], one["state"]) for one in hudi.ask("archived", path=str(path))} == archived
    agree(hudi, path, "after our archival", *batches)
    batches.append(local.batch(3, 30, "more", 20))
    write_by_hudi(hudi, path, batches[-1], **{**keep, "hoodie.archive.automatic": "true"})
    agree(hudi, path, "after Hudi's write on our archive", *batches)
    if table_type == "MERGE_ON_READ":
        assert hudi.compact(path, options={"hoodie.compact.inline.max.delta.commits": "1"})
        agree(hudi, path, "after Hudi's compaction", *batches)
    assert_hudi_validates(hudi, path, "at the end")
