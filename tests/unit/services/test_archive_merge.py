"""Merges of small archive files by ``archive.py``: seen in a dry run, in the hash, done to the file or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.timeline.archive.v6.files import MERGE_PLAN_NAME
from spark_jobs.core.timeline.archive.v6.schemas import MERGE_PLAN
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.options import ArchiveOptions, JobResult, JobState
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.metadata import maintain_metadata_table
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

KEEP = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.archive.merge.enable": "true",
    "hoodie.archive.merge.files.batch.size": "3",
}


def run(path: Folder, options: dict[str, str] | None = None, **more: Any) -> JobResult:
    return run_archival(
        ArchiveOptions(base_path=str(path), hoodie_conf={**KEEP, **(options or {})}, **more),
        job_context(lake=path.lake),
    )


def archived(path: Folder) -> list[str]:
    return sorted(file.name for file in (path / ".hoodie/archived").iterdir())


def everything(path: Folder) -> dict[str, bytes]:
    found = [file for file in (path / ".hoodie").rglob("*") if file.is_file() and "lock" not in file.name]
    return {str(file.relative_to(path / ".hoodie")): file.read_bytes() for file in found}


def table_with(path: Folder, files: int, commits: int) -> list[str]:
    """``files`` archive files of a commit each, and so many commits on the active timeline; all their times."""
    local.create(path, "COPY_ON_WRITE")
    times = [local.write(path, local.batch(one, 8, "v", one), str(one)) for one in range(files + commits)]
    at_once = {"hoodie.metadata.compact.max.delta.commits": "1"}  # so that it holds no instant
    maintain_metadata_table(path.table().transaction_settings(at_once), at_once, pytest.fail)
    for one in range(files):
        timeline = path.table().timeline
        (oldest,) = [each for each in timeline.instants if each.timestamp == times[one]]
        archive(timeline, str(path), [oldest])
    return times


NAMES = [f".commits_.archive.{version}_1-0-1" for version in range(1, 6)]


def test_a_merge_alone_is_planned_and_done_by_its_hash(root: Folder) -> None:
    path = root / "t"
    times = table_with(path, files=3, commits=2)
    before = everything(path)
    look = run(path, dry_run=True)
    assert everything(path) == before
    assert (look.state, look.extra["archived"], look.files_in) == (JobState.DRY_RUN, 0, 3)
    assert "2 completed commit(s)" in str(look.reason)
    plan = look.plan or {}
    sizes = {f"archived/{name}": len(before[f"archived/{name}"]) for name in NAMES[:3]}
    assert plan["merge"] == {"inputs": sizes, "bytes": sum(sizes.values()), "writes": f"archived/{NAMES[3]}"}
    assert (plan["deletions"], plan["instants"], plan["writes"]) == (sizes, [], {})
    assert look.extra["estimated_bytes"] == sum(sizes.values())
    done = run(path, plan_hash=look.extra["plan_hash"])
    assert (done.state, done.extra["merged_files"]) == (JobState.COMPLETED, 3)
    assert Path(done.extra["merged_into"]).name == NAMES[3]
    assert archived(path) == [NAMES[3]]
    assert [one.timestamp for one in path.table().archived_timeline().instants] == times[:3]


def test_the_file_of_the_same_archival_is_merged_too_as_the_dry_run_says(root: Folder) -> None:
    path = root / "t"
    table_with(path, files=2, commits=4)
    marker = path / ".hoodie/.temp" / path.table().timeline.instants[0].timestamp / "p/left.marker.CREATE"
    marker.parent.mkdir(parents=True)
    marker.write_text("left")
    before = everything(path)
    look = run(path, dry_run=True)
    assert everything(path) == before
    plan = look.plan or {}
    (written,) = plan["writes"].items()
    assert written[0] == f"archived/{NAMES[2]}"
    assert next(iter(plan["merge"]["inputs"].items())) == written  # newest first
    assert set(plan["merge"]["inputs"]) == {f"archived/{name}" for name in NAMES[:3]}
    done = run(path, plan_hash=look.extra["plan_hash"])
    after = everything(path)
    assert before.keys() - after.keys() == plan["deletions"].keys() - {written[0]}
    assert {name: len(data) for name, data in before.items() if name not in after} == {
        name: size for name, size in plan["deletions"].items() if name != written[0]
    }
    assert after.keys() - before.keys() == {plan["merge"]["writes"]}
    assert len(after[plan["merge"]["writes"]]) == plan["merge"]["bytes"]
    assert (done.extra["archived"], done.extra["merged_files"], done.bytes_in) == (2, 3, look.bytes_in)
    assert not marker.parent.parent.exists()


@pytest.mark.parametrize("change", ["another archive file", "a longer file", "no merge"])
def test_other_files_are_refused_before_anything_is_changed(root: Folder, change: str) -> None:
    path = root / "t"
    table_with(path, files=3, commits=4)
    asked = run(path, dry_run=True).extra["plan_hash"]
    newest = path / ".hoodie/archived" / NAMES[2]
    options: dict[str, str] = {}
    if change == "another archive file":
        (newest.parent / NAMES[3]).write_bytes(newest.read_bytes())
    elif change == "a longer file":
        newest.write_bytes(newest.read_bytes() + b"#HUDI")
    else:
        options = {"hoodie.archive.merge.enable": "false"}
    before = everything(path)
    with pytest.raises(WriteConflictError, match="the plan is not"):
        run(path, options, plan_hash=asked)
    assert everything(path) == before


def test_a_merge_that_is_not_due_has_a_reason(root: Folder) -> None:
    path = root / "t"
    table_with(path, files=2, commits=2)
    reason = "2 small archive file(s) in a row; 3 or more become one"
    look = run(path, dry_run=True)
    assert (look.state, look.plan) == (JobState.NOTHING_TO_DO, None)
    assert str(look.reason).endswith(reason)
    assert str(run(path).reason).endswith(reason)
    with pytest.raises(WriteConflictError, match=r"there is no such plan now: .*2 small archive"):
        run(path, plan_hash="0" * 24 + "-3-100-0")
    small = {"hoodie.archive.merge.small.file.limit.bytes": "1"}
    assert "0 small archive file(s)" in str(run(path, small).reason)
    without = run(path, {"hoodie.archive.merge.enable": "false"})
    assert "archive file" not in str(without.reason)


@pytest.mark.parametrize("is_whole", [True, False])
def test_what_a_broken_merge_left_is_in_the_plan(root: Folder, is_whole: bool) -> None:
    """Hudi's or ours: undone with all its files there, else ended."""
    path = root / "t"
    times = table_with(path, files=3, commits=4)
    folder = path / ".hoodie/archived"
    raw = {"candidate": [f"file:{folder}/{name}" for name in NAMES[:3]], "mergedArchiveFileName": NAMES[3]}
    (folder / MERGE_PLAN_NAME).write_bytes(encode_payload(MERGE_PLAN, raw))
    whole = b"".join((folder / name).read_bytes() for name in reversed(NAMES[:3]))
    (folder / NAMES[3]).write_bytes(whole if is_whole else whole[:1000])
    if is_whole:
        (folder / NAMES[2]).unlink()
    before = everything(path)
    look = run(path, {"hoodie.archive.merge.enable": "false"}, dry_run=True)
    left = {f"archived/{name}" for name in (NAMES[:2] if is_whole else NAMES[3:4])}
    gone = {name for name in (look.plan or {})["deletions"] if name.startswith("archived")}
    assert gone == left | {f"archived/{MERGE_PLAN_NAME}"}
    assert everything(path) == before
    done = run(path, {"hoodie.archive.merge.enable": "false"}, plan_hash=look.extra["plan_hash"])
    assert done.state is JobState.COMPLETED
    after = everything(path)
    assert before.keys() - after.keys() == (look.plan or {})["deletions"].keys()
    # the number of a file that goes is not given anew: the list of what goes would not tell the two apart
    assert after.keys() - before.keys() == {f"archived/{NAMES[4]}"} == (look.plan or {})["writes"].keys()
    assert [one.timestamp for one in path.table().archived_timeline().instants] == times[:5]


def test_a_broken_merge_alone_is_settled_where_merges_are_asked_for(root: Folder) -> None:
    path = root / "t"
    table_with(path, files=2, commits=2)
    (path / ".hoodie/archived" / MERGE_PLAN_NAME).write_bytes(b"Obj\x01")
    look = run(path, dry_run=True)
    assert (look.plan or {})["deletions"] == {f"archived/{MERGE_PLAN_NAME}": 4}
    assert run(path, plan_hash=look.extra["plan_hash"]).state is JobState.COMPLETED
    assert archived(path) == NAMES[:2]


@pytest.mark.parametrize("broken", [False, True])
def test_a_hash_that_was_carried_out_or_broke_off_is_refused_and_a_run_without_one_goes_on(
    root: Folder, broken: bool
) -> None:
    path = root / "t"
    times = table_with(path, files=2, commits=4)
    asked = run(path, dry_run=True).extra["plan_hash"]
    copy = root / "copy"
    path.copy_to(copy)
    run(path, plan_hash=asked)
    if broken:  # the entries are written, the instants and small files are there still
        kept = [one.name for one in (copy / ".hoodie").iterdir() if one.is_file()]
        for name in kept:
            (copy / ".hoodie" / name).copy_to(path / ".hoodie" / name)
    with pytest.raises(WriteConflictError, match="the plan is not"):
        run(path, plan_hash=asked)
    assert (run(path).state is JobState.COMPLETED) is broken
    table = path.table()
    assert [one.timestamp for one in table.archived_timeline().instants] == times[:4]
    assert [one.timestamp for one in table.timeline.completed_commits()] == times[4:]
