"""The time of completion in the name of the file that completes an instant: nobody else can name that file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from spark_jobs.core.errors import InstantTakenError, StorageError
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.steps import complete, request, transition
from spark_jobs.core.transaction.transaction import begin
from tests.faults import local_table
from tests.support.folder import Folder, file_at
from tests.support.through import Through
from tests.unit.core.format.version_66.tables import create, fail, write
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


class LostAnswers(Through):
    """Makes the file that completes an instant, and says that it could not."""

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.inner.create(path, data, durable=durable)
        if "-until-" in path and "/metadata/" not in path:
            raise StorageError(f"the answer to create of {path} was lost", path=path)


def test_each_is_completed_after_all_that_there_was(root: Folder) -> None:
    path = root / "t"
    create(path, "MERGE_ON_READ")
    for version in (1, 2, 3):
        write(path, version)
    local_table.compact(path)
    timeline = path.table().timeline
    commits = timeline.completed_commits()
    assert len(commits) == 4
    for one, next_one in pairwise(commits):
        assert one.completed_at is not None
        assert one.timestamp < one.completed_at < next_one.timestamp
        assert one.is_visible_at(one.timestamp), "a moment is named by when a write began"
        assert (file_at(timeline.storage, timeline.path(one))).exists()
        assert timeline.path(Instant(one.timestamp, one.action, State.COMPLETED)) == timeline.path(one)
    assert timeline.last_moment == commits[-1].completed_at


def test_clocks_that_stand_still_give_times_that_go_on(root: Folder) -> None:
    path = root / "t"
    create(path, "COPY_ON_WRITE")
    clock, times = HandClock(), list[str]()
    for number in ("20240506000000000", "20240506000000001", "20300101000000000"):
        timeline = path.table().timeline
        inflight = transition(timeline, request(timeline, number, Action.COMMIT), State.INFLIGHT, b"")
        times.append(complete(timeline, inflight, b"{}", clock).completed_at or "")
    assert times == sorted(set(times))
    assert times[-1] == "20300101000000001"


def test_an_instant_is_completed_once(root: Folder) -> None:
    """Also by two processes, whose files would have two names."""
    path = root / "t"
    create(path, "COPY_ON_WRITE")
    timeline = path.table().timeline
    inflight = transition(timeline, request(timeline, "20240506000000000", Action.COMMIT), State.INFLIGHT, b"")
    completion = timeline.completion(inflight)
    assert completion.found(timeline.storage) is None
    done = complete(timeline, inflight, b"{}", HandClock())
    assert completion.found(timeline.storage) == done
    with pytest.raises(InstantTakenError, match="another process was faster"):
        complete(timeline, inflight, b"{}", HandClock(passed=5))
    assert [one for one in timeline.reload().instants if one.action in COMMITS] == [done]


def test_what_was_never_published_goes_with_the_instant_that_is_rolled_back(tmp_path: Path) -> None:
    """Of local disks: an object is put whole."""
    path = Folder(str(tmp_path)) / "t"
    create(path, "COPY_ON_WRITE")
    fail(path)
    (failed,) = path.table().timeline.instants
    cut = path / f".hoodie/history/commit-done-at-{failed.timestamp}-until-20260101000000000.a1.tmp"
    cut.write_bytes(b"{")
    local_table.roll_back(path)
    assert not cut.exists()


def test_a_completion_counts_whose_answer_was_lost(root: Folder) -> None:
    path = root / "t"
    create(path, "COPY_ON_WRITE")
    settings = path.through(LostAnswers(path.storage)).table().transaction_settings({})
    one = begin(settings, Action.COMMIT)
    assert one is not None
    one.to_inflight()
    done = one.publish(CommitMetadata().payload(), frozenset(), written=frozenset())
    assert done.completed_at is not None
    assert path.table().timeline.completed_commits() == (done,)
