"""Moments of which cleaning removed files are refused, whatever policy it went by."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.payloads.schemas import SAVEPOINT_METADATA
from spark_jobs.core.timeline.steps import open_savepoint, transition
from spark_jobs.options.clean import CleanOptions
from spark_jobs.services.cleaning.job import run_cleaning
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

BY_COMMITS = {"hoodie.cleaner.commits.retained": "1"}
BY_VERSIONS = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"}


@pytest.fixture
def path(root: Folder) -> Folder:
    local.create(root / "t", "COPY_ON_WRITE")
    return root / "t"


def write_three(path: Folder) -> list[str]:
    """The second write changes both partitions, the third one alone."""
    first = local.write(path, local.batch(0, 20, "one", 1), "a")
    second = local.write(path, local.batch(0, 10, "two", 2), "b")
    return [first, second, local.write(path, local.batch(0, 1, "three", 3), "c")]


def clean(path: Folder, options: dict[str, str]) -> None:
    run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=tuple(options.items())), job_context(lake=path.lake))


def count(path: Folder, **query: str) -> int:
    return path.table().scan(columns=["id"], **query).to_arrow().num_rows  # type: ignore[arg-type]


def refused(path: Folder, earliest: str, **query: str) -> None:
    with pytest.raises(ConfigError, match=rf"as of {max(query.values())}: cleaning .*read as of {earliest} or later"):
        count(path, **query)


def test_a_clean_that_keeps_commits(path: Folder) -> None:
    times = write_three(path)
    assert [count(path, as_of=time) for time in times] == [20, 20, 20]
    clean(path, BY_COMMITS)
    refused(path, times[2], as_of=times[0])
    refused(path, times[2], as_of=times[1])
    assert count(path, as_of=times[2]) == count(path) == 20
    with pytest.raises(ConfigError, match="can't be read as of"):
        count(path, query="incremental", begin="000", end=times[1])
    assert count(path, query="incremental", begin=times[1]) == 1


def test_a_clean_that_keeps_versions(path: Folder) -> None:
    times = write_three(path)
    clean(path, BY_VERSIONS)
    refused(path, times[2], as_of=times[0])
    refused(path, times[2], as_of=times[1])
    assert count(path, as_of=times[2]) == 20


def test_a_clean_that_keeps_versions_of_a_group_that_was_replaced(path: Folder) -> None:
    first = local.write(path, local.batch(0, 20, "one", 1), "a")
    local.cluster(path)
    replaced = path.table().timeline.completed_commits()[-1].timestamp
    clean(path, BY_VERSIONS)
    refused(path, replaced, as_of=first)
    assert count(path, as_of=replaced) == 20


def test_a_moment_that_was_saved_stays_readable(path: Folder) -> None:
    first = local.write(path, local.batch(0, 20, "one", 1), "a")
    table = path.table()
    files: dict[str, list[str]] = {}
    for one in table.file_slices():
        files.setdefault(one.partition, []).extend(name.rsplit("/", 1)[-1] for name in one.paths)
    saved = {
        "savepointedBy": "test",
        "savepointedAt": 1,
        "comments": "",
        "partitionMetadata": {
            partition: {"partitionPath": partition, "savepointDataFile": names} for partition, names in files.items()
        },
        "version": 1,
    }
    data = encode_payload(SAVEPOINT_METADATA, saved)
    transition(table.timeline, open_savepoint(table.timeline, first), State.COMPLETED, data)
    second = local.write(path, local.batch(0, 10, "two", 2), "b")
    local.write(path, local.batch(0, 10, "three", 3), "c")
    local.write(path, local.batch(0, 10, "four", 4), "d")
    clean(path, BY_COMMITS)
    assert count(path, as_of=first) == 20
    with pytest.raises(ConfigError, match="can't be read as of"):
        count(path, as_of=second)


def test_a_clean_that_is_archived_by_now(path: Folder) -> None:
    """It took more than the one that is still on the active timeline, which kept more versions."""
    both, of_a, of_b = local.batch(0, 20, "both", 1), local.batch(0, 1, "a", 2), local.batch(1, 1, "b", 2)
    times = [local.write(path, rows, str(number)) for number, rows in enumerate((both, both, of_a, of_a))]
    clean(path, {**BY_VERSIONS, "hoodie.cleaner.fileversions.retained": "2"})
    for number in range(2):
        local.write(path, of_b, f"b {number}")
    clean(path, {**BY_VERSIONS, "hoodie.cleaner.fileversions.retained": "3"})
    refused(path, times[2], as_of=times[1])
    timeline = path.table().timeline
    first, second = timeline.completed(Action.CLEAN)
    archive(timeline, str(path), [first])
    assert path.table().timeline.completed(Action.CLEAN) == (second,)
    refused(path, times[2], as_of=times[1])
    assert count(path, as_of=times[2]) == 20
