"""Invariants 5 and 7 by what a commit says of its files: wrong write stats, and logs that no write stat names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from spark_jobs.core.format.v6.file_names import parse_log_file_name
from spark_jobs.services.validation.run import validate
from tests.support.folder import Folder
from tests.unit.services.validation.damage import data_files, findings, hasty, instant_file, the_finding

pytestmark = pytest.mark.unit

Unpack = Callable[[str], Folder]
Stat = dict[str, Any]


def change_stats(commit: Folder, change: Callable[[list[Stat]], object]) -> str:
    """Change the write stats of one partition; gives the relative path of the commit."""
    raw = json.loads(commit.read_text())
    change(next(iter(raw["partitionToWriteStats"].values())))
    commit.write_text(json.dumps(raw))
    return f".hoodie/{commit.name}"


def stats_of(commit: Folder) -> list[Stat]:
    return [one for many in json.loads(commit.read_text())["partitionToWriteStats"].values() for one in many]


@pytest.mark.parametrize(
    ("table", "ending"), [("tables/cow_upserts", ".commit"), ("log_tables/logs_avro", ".deltacommit")]
)
@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"partitionPath": "elsewhere"}, "has the partition 'elsewhere'"),
        ({"fileId": "00000000-aaaa-0"}, "has the file id '00000000-aaaa-0'"),
    ],
)
def test_a_stat_that_its_own_path_contradicts(unpack: Unpack, table: str, ending: str, change: Stat, what: str) -> None:
    base = unpack(table)
    where = change_stats(instant_file(base, ending), lambda stats: stats[0].update(change))
    told = [one for one in validate(str(base), lake=hasty(base)) if one.path == where]
    assert [(one.invariant, one.is_error) for one in told] == [(5, True)]
    assert what in told[0].what


def test_a_file_that_is_counted_twice(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    where = change_stats(instant_file(base, ".commit"), lambda stats: stats.append(dict(stats[0])))
    assert findings(base) == [(5, "WARNING", where)]
    assert "twice" in the_finding(base, 5).what


@pytest.mark.parametrize("count", ["numInserts", "numUpdateWrites"])
def test_more_inserts_or_updates_than_rows(unpack: Unpack, count: str) -> None:
    base = unpack("tables/cow_upserts")
    where = change_stats(
        instant_file(base, ".commit", 0), lambda stats: stats[0].update({count: stats[0]["numWrites"] + 3})
    )
    assert findings(base) == [(5, "WARNING", where)]


def test_rows_that_were_deleted_or_refused_count_as_well(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")

    def refuse(stats: list[Stat]) -> None:
        stats[0]["numUpdateWrites"] += 3
        stats[0]["numDeletes"] += 1
        stats[0]["totalWriteErrors"] += 2

    change_stats(instant_file(base, ".commit", 0), refuse)
    assert findings(base) == []


def test_a_log_that_is_named_once_for_each_append(unpack: Unpack) -> None:
    base = unpack("log_tables/logs_avro")

    def again(stats: list[Stat]) -> None:
        stats.extend([dict(one) for one in stats if one.get("logVersion")])

    change_stats(instant_file(base, ".deltacommit"), again)
    assert findings(base) == findings(base, deep=True) == []


def newest_log(base: Folder) -> tuple[Folder, list[str]]:
    """The newest delta commit that appended, and the logs it names."""
    for number in range(-1, -9, -1):
        commit = instant_file(base, ".deltacommit", number)
        logs = [one["path"] for one in stats_of(commit) if one.get("logVersion")]
        if logs:
            return commit, logs
    raise AssertionError("no log was written")


def test_a_log_that_its_commit_does_not_name(unpack: Unpack) -> None:
    base = unpack("log_tables/logs_avro")
    commit, logs = newest_log(base)
    raw = json.loads(commit.read_text())
    for stats in raw["partitionToWriteStats"].values():
        stats[:] = [one for one in stats if one["path"] != logs[0]]
    commit.write_text(json.dumps(raw))
    (found,) = [one for one in validate(str(base), lake=hasty(base)) if one.path == logs[0]]
    assert (found.invariant, found.is_error) == (7, True)
    assert "is completed and does not name it" in found.what


def with_version(path: str, version: int) -> str:
    folder, _, last = path.rpartition("/")
    name = parse_log_file_name(last)
    assert name is not None
    other = last.replace(f".log.{name.version}_", f".log.{version}_")
    return f"{folder}/{other}" if folder else other


def test_the_log_of_a_task_that_was_tried_twice(unpack: Unpack) -> None:
    """Hudi before 0.14 leaves one beside the log that counts."""
    base = unpack("log_tables/logs_avro")
    _, logs = newest_log(base)
    twin = with_version(logs[0], 9)
    (base / logs[0]).copy_to(base / twin)
    assert findings(base) == [(7, "WARNING", twin)]


def test_the_copy_of_an_older_log(unpack: Unpack) -> None:
    """Its version is above that of newer writes, whose changes it would take back."""
    base = unpack("log_tables/logs_avro")
    versions: dict[tuple[str, str], dict[int, str]] = {}
    for path in data_files(base, ".log."):
        name = parse_log_file_name(path.rpartition("/")[2])
        assert name is not None
        versions.setdefault((name.file_id, name.instant), {})[name.version] = path
    several = next(one for one in versions.values() if len(one) > 1)
    oldest = several[min(several)]
    stray = with_version(oldest, 9)
    (base / oldest).copy_to(base / stray)
    assert findings(base) == [(7, "ERROR", stray)]


@pytest.mark.parametrize("table", ["tables/cow_upserts", "log_tables/logs_avro"])
def test_all_else_is_told_where_the_newest_commit_is_cut(unpack: Unpack, table: str) -> None:
    base = unpack(table)
    commit = instant_file(base, "commit")
    commit.write_bytes(commit.read_bytes()[:50])
    (base / ".hoodie" / ".heartbeat").mkdir(exist_ok=True)
    found = findings(base, deep=True)
    assert (3, "ERROR", f".hoodie/{commit.name}") in found
    assert (1, "ERROR", f".hoodie/{commit.name}") in found


def change_log_stat(base: Folder, change: Stat) -> tuple[str, str]:
    """Change what the newest delta commit says of its first log; relative paths of both."""
    commit, logs = newest_log(base)
    raw = json.loads(commit.read_text())
    (stat,) = [one for many in raw["partitionToWriteStats"].values() for one in many if one["path"] == logs[0]]
    stat.update({name: stat[name] + more for name, more in change.items()})
    commit.write_text(json.dumps(raw))
    return f".hoodie/{commit.name}", logs[0]


@pytest.mark.parametrize("table", ["log_tables/logs_avro", "log_tables/logs_parquet", "tables/mor_logs"])
@pytest.mark.parametrize(
    ("change", "severity", "what"),
    [
        ({"numWrites": 1, "numUpdateWrites": 1}, "ERROR", "rows, and the write stat counts"),
        ({"numWrites": -1, "numUpdateWrites": -1}, "WARNING", "rows, and the write stat counts"),
        ({"numDeletes": 2}, "ERROR", "deletes, and the write stat counts"),
    ],
)
def test_a_log_with_other_counts_than_its_stat(
    unpack: Unpack, table: str, change: Stat, severity: str, what: str
) -> None:
    base = unpack(table)
    _, log = change_log_stat(base, change)
    assert findings(base) == []
    assert findings(base, deep=True) == [(5, severity, log)]
    assert what in the_finding(base, 5, deep=True).what


def test_a_log_whose_rows_are_neither_inserts_nor_updates(unpack: Unpack) -> None:
    base = unpack("log_tables/logs_avro")
    where, _ = change_log_stat(base, {"numInserts": 1})
    assert findings(base) == findings(base, deep=True) == [(5, "WARNING", where)]


def test_counts_that_tell_nothing(unpack: Unpack) -> None:
    """Records that Hudi refused may stand in the delete block; keys that came twice stand in an HFile block once."""
    base = unpack("log_tables/logs_avro")
    change_log_stat(base, {"totalWriteErrors": 1, "numWrites": 3, "numDeletes": 3})
    assert findings(base, deep=True) == []
    base = unpack("log_tables/logs_hfile")
    for commit in (base / ".hoodie").glob("*.deltacommit"):
        raw = json.loads(commit.read_text())
        for stat in [one for many in raw["partitionToWriteStats"].values() for one in many]:
            if stat.get("logVersion") and stat["numWrites"]:
                stat["numWrites"] += 1
                stat["numUpdateWrites"] += 1
        commit.write_text(json.dumps(raw))
    assert findings(base, deep=True) == []


def test_deletes_of_a_write_that_began_another_log_meanwhile(unpack: Unpack) -> None:
    """Hudi counts them with the log that was open when they came, and stores them behind all rows."""
    base = unpack("log_tables/logs_avro")
    commit, logs = newest_log(base)
    raw = json.loads(commit.read_text())
    for many in raw["partitionToWriteStats"].values():
        for stat in [one for one in many if one["path"] == logs[0]]:
            other = with_version(stat["path"], 9)
            many.append({**stat, "path": other, "numWrites": 0, "numUpdateWrites": 0, "numInserts": 0, "numDeletes": 0})
            stat["numDeletes"] += 1
            (base / logs[0]).copy_to(base / other)
    commit.write_text(json.dumps(raw))
    found = validate(str(base), deep=True, lake=hasty(base))
    assert [one for one in found if "deletes, and the write stat counts" in one.what] == []
