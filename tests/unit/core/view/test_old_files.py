"""Files that are older than the active timeline: they count by what is on record, and are never guessed at."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import UnknownInstantError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.storage import FileStatus, RelativePath
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.payloads import schemas
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_system_view import FileSystemView, PendingServices, build_view
from spark_jobs.core.view.history import built_upon
from spark_jobs.core.view.visibility import Visibility
from tests.support.folder import Folder
from tests.support.payloads import stored
from tests.support.through import Through
from tests.unit.core.support import HandClock
from tests.unit.core.timeline.lines import ROLLED_BACK, Line, time

pytestmark = pytest.mark.unit

NOTHING = PendingServices(compaction={}, clustering={}, replaced={})


class Counting(Through):
    """Another storage, with the number of files that were read."""

    reads = 0

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        self.reads += 1
        return self.inner.open_input(path, may_change=may_change, etag=etag)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        self.reads += 1
        return self.inner.read(path, offset, length)


@pytest.fixture
def line(root: Folder) -> Line:
    """1 to 4 archived, 10 and 11 active; the rollback 12 undid 9."""
    made = Line(root)
    archive(made.load(), str(root), [made.commit(number) for number in (1, 2, 3, 4)])
    made.commit(10)
    made.commit(11)
    made.rollback(12)
    made.storage = Counting(made.storage)
    return made


def view(line: Line, *files: tuple[str, int], size: int = 5, until: int | None = None, **more: Any) -> FileSystemView:
    """(group, instant) of base files; a group with a dot in front has a log."""
    names = [
        f".{group[1:]}-0_{time(at)}.log.1_0-1-1" if group[0] == "." else f"{group}-0_0-1-1_{time(at)}.parquet"
        for group, at in files
    ]
    listed = [
        ("p", FileStatus(path=f"/t/p/{name}", size=size, modified_ms=0, is_directory=False, etag="")) for name in names
    ]
    visibility = Visibility.of(line.load(), None if until is None else time(until))
    return build_view(VERSION_6, listed, visibility, NOTHING, partitions=None, **more)


def seen(found: FileSystemView) -> list[tuple[str, int]]:
    return [(one.file_id[:-2], int(one.base_instant[-5:])) for one in found.latest_slices()]


def reads(line: Line) -> int:
    assert isinstance(line.storage, Counting)
    return line.storage.reads


def test_what_was_archived_counts(line: Line) -> None:
    assert seen(view(line, ("a", 1), ("b", 2), ("b", 1), (".c", 3))) == [("a", 1), ("b", 2), ("c", 3)]
    assert reads(line) == 1


def test_nothing_is_read_where_nothing_older_is_the_newest_of_its_group(line: Line) -> None:
    assert seen(view(line, ("a", 1), ("a", 10), ("b", 11), ("b", 9), ("c", 13))) == [("a", 10), ("b", 11)]
    assert seen(view(line, ("a", 9), ("a", 1), until=0)) == []
    assert reads(line) == 0


@pytest.mark.parametrize("size", [0, 5])
def test_what_was_rolled_back_does_not_count_though_it_is_older_than_the_timeline(line: Line, size: int) -> None:
    assert seen(view(line, ("a", 9), ("a", 1), ("b", 9), (".c", 9), size=size)) == [("a", 1)]


def test_nor_when_its_rollback_is_archived(line: Line) -> None:
    archive(line.load(), str(line.base), list(line.load().completed(Action.ROLLBACK)))
    assert not line.load().completed(Action.ROLLBACK)
    assert seen(view(line, ("a", 9), ("a", 1))) == [("a", 1)]


@pytest.mark.parametrize("group", ["a", ".a"])
def test_what_nobody_knows_is_an_error_that_names_the_file(line: Line, group: str) -> None:
    with pytest.raises(UnknownInstantError, match=r"p/\.?a-0_.*validate\.py; delete the file if.* restore") as raised:
        seen(view(line, (group, 5)))
    assert raised.value.details["instant"] == time(5)
    assert seen(view(line, (group, 5), until=4)) == []
    assert seen(view(line, (group, 5), (group, 10))) == [("a", 10)]
    with pytest.raises(UnknownInstantError):
        view(line, (group, 5), (group, 10)).groups  # noqa: B018


def test_a_table_whose_archive_is_gone_does_not_lose_its_old_files_in_silence(line: Line) -> None:
    for file in line.archive.iterdir():
        file.unlink()
    with pytest.raises(UnknownInstantError):
        seen(view(line, ("a", 1)))
    assert seen(view(line, ("a", 9))) == []  # it was rolled back, as the timeline says


def test_other_evidence_counts(line: Line) -> None:
    asked: list[tuple[str, str, str]] = []

    def proof(partition: str, name: str, instant: str) -> bool:
        asked.append((partition, name, instant))
        return instant == time(5)

    assert seen(view(line, ("a", 5), ("b", 5), ("c", 1), proof=proof)) == [("a", 5), ("b", 5), ("c", 1)]
    assert asked == [("p", f"a-0_0-1-1_{time(5)}.parquet", time(5))]
    with pytest.raises(UnknownInstantError):
        seen(view(line, ("a", 6), proof=proof))


def test_a_listing_of_committed_files_alone_needs_no_archive(line: Line) -> None:
    assert seen(view(line, ("a", 1), ("b", 5), is_proven=lambda instant: True)) == [("a", 1), ("b", 5)]
    assert reads(line) == 0


def test_later_commits_prove_what_they_merged_or_logged_upon(line: Line) -> None:
    merged = WriteStat(file_id="a-0", path=RelativePath("p/a"), partition_path="p", prev_commit=time(5))
    logged = WriteStat(
        file_id="b-0",
        path=RelativePath("p/.b"),
        partition_path="p",
        prev_commit=time(7),
        log_version=1,
        base_file=f"b-0_0-1-1_{time(6)}.parquet",
    )
    new = WriteStat(file_id="c-0", path=RelativePath("p/c"), partition_path="p")
    done = stored(CommitMetadata(write_stats=(merged, logged, new)).payload())
    line.put(13, Action.DELTA_COMMIT, b"", b"", done)
    assert built_upon(line.load(), HandClock()) == {time(5), time(6)}


def test_it_pickles_with_its_answers(line: Line) -> None:
    visibility = Visibility.of(line.load())
    assert visibility.is_completed(time(1))
    assert not visibility.is_completed(time(9))
    line.archive.rename(line.archive.with_name("away"))
    copied = pickle.loads(pickle.dumps(visibility))
    assert copied.is_completed(time(1))
    assert not copied.is_completed(time(9))
    with pytest.raises(UnknownInstantError):
        copied.is_completed(time(5))


def test_a_pending_rollback_tells_what_it_undoes(line: Line) -> None:
    plan = {"instantToRollback": {"commitTime": time(8), "action": "commit"}}
    line.put(14, Action.ROLLBACK, encode_payload(schemas.ROLLBACK_PLAN, plan), states=tuple(State)[:2])
    assert seen(view(line, ("a", 8), ("a", 1))) == [("a", 1)]


def test_a_write_that_was_done_again_after_its_rollback_counts(line: Line) -> None:
    """A compaction keeps its instant."""
    done = {**ROLLED_BACK, "commitsRollback": [time(4)]}
    line.put(14, Action.ROLLBACK, b"", b"", encode_payload(schemas.ROLLBACK_METADATA, done))
    assert seen(view(line, ("a", 4))) == [("a", 4)]
