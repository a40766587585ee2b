"""The checkpoint in the commits of a table: found past commits without one, and moved by one writer at a time."""

from __future__ import annotations

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.checkpoint import (
    CHECKPOINT_KEY,
    IGNORE_KEY,
    RESET_KEY,
    CheckpointMove,
    CheckpointOrders,
    StoredCheckpoint,
    stored_checkpoint,
)
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.steps import request, transition
from tests.support.folder import Folder
from tests.unit.core.timeline.lines import Line, time

pytestmark = pytest.mark.unit


def load(base: Folder) -> ActiveTimeline:
    folder = base / ".hoodie"
    folder.mkdir(exist_ok=True)
    (folder / "archived").mkdir(exist_ok=True)
    return ActiveTimeline.load(base.storage, str(folder), str(folder / "archived"), format=VERSION_6)


def commit(base: Folder, time: str, extra: dict[str, str | None], action: Action = Action.COMMIT) -> None:
    line = load(base)
    inflight = transition(line, request(line, time, action), State.INFLIGHT, b"")
    transition(line, inflight, State.COMPLETED, CommitMetadata(extra_metadata=extra).payload())


def stored(value: str = "", reset: str = "", ignored: str = "") -> StoredCheckpoint:
    return StoredCheckpoint(value=value, reset=reset, ignored=ignored)


def test_the_newest_commit_that_has_one_counts(root: Folder) -> None:
    assert stored_checkpoint(load(root), SYSTEM_CLOCK) is None
    commit(root, "20260101000000000", {CHECKPOINT_KEY: "t,0:1"}, Action.DELTA_COMMIT)
    commit(root, "20260102000000000", {CHECKPOINT_KEY: "t,0:2", IGNORE_KEY: "a"}, Action.DELTA_COMMIT)
    commit(root, "20260103000000000", {"schema": "{}", CHECKPOINT_KEY: None})  # a compaction, a write by hand
    commit(root, "20260104000000000", {}, Action.REPLACE_COMMIT)
    assert stored_checkpoint(load(root), SYSTEM_CLOCK) == stored("t,0:2", "", "a")
    commit(root, "20260105000000000", {RESET_KEY: "t,0:0"})
    assert stored_checkpoint(load(root), SYSTEM_CLOCK) == stored("", "t,0:0")


def test_an_archived_one_counts_where_no_other_is_left(root: Folder) -> None:
    commit(root, "20260101000000000", {CHECKPOINT_KEY: "t,0:1"})
    commit(root, "20260102000000000", {CHECKPOINT_KEY: "t,0:2"})
    commit(root, "20260103000000000", {})
    line = load(root)
    archive(line, str(root), line.completed_commits()[:2])
    assert len(load(root).completed_commits()) == 1
    assert stored_checkpoint(load(root), SYSTEM_CLOCK) == stored("t,0:2")


@pytest.mark.parametrize("is_saved", [True, False])
def test_an_archived_one_counts_that_is_newer_than_one_which_a_savepoint_kept(root: Folder, is_saved: bool) -> None:
    """Else the batches in between would be written a second time."""
    for day in (1, 2):
        commit(root, f"2026010{day}000000000", {CHECKPOINT_KEY: f"t,0:{day}"})
    commit(root, "20260103000000000", {})
    line = load(root)
    if is_saved:
        (root / ".hoodie" / "20260101000000000.savepoint").touch()
    archive(line, str(root), line.completed_commits()[1:2])
    assert [one.timestamp[7] for one in load(root).completed_commits()] == ["1", "3"]
    assert stored_checkpoint(load(root), SYSTEM_CLOCK) == stored("t,0:2")


def test_an_archived_one_that_was_taken_back_does_not_count(root: Folder) -> None:
    """After an archival that broke off: its commits were on the timeline still, and were rolled back there."""
    line = Line(root)
    for number in (8, 9):
        commit(root, time(number), {CHECKPOINT_KEY: f"t,0:{number}"})
    archive(load(root), str(root), load(root).completed_commits())
    assert stored_checkpoint(load(root), SYSTEM_CLOCK) == stored("t,0:9")
    line.rollback(100)  # of 9
    assert stored_checkpoint(load(root), SYSTEM_CLOCK) == stored("t,0:8")


@pytest.mark.parametrize(
    ("reset", "ignore", "known", "resumed"),
    [
        (None, None, None, None),
        ("r", None, None, "r"),
        (None, "i", None, None),
        (None, None, stored("v"), "v"),
        ("r", None, stored("v"), "r"),
        ("r", None, stored("v", reset="other"), "r"),
        ("r", None, stored("v", reset="r"), "v"),
        (None, None, stored("v", reset="r"), "v"),
        (None, "i", stored("v"), None),
        ("r", "i", stored("v"), "r"),
        (None, "i", stored("v", ignored="i"), "v"),
        ("r", "i", stored("v", reset="r", ignored="i"), "v"),
    ],
)
def test_where_to_go_on_is_found_as_hudi_finds_it(
    reset: str | None, ignore: str | None, known: StoredCheckpoint | None, resumed: str | None
) -> None:
    """StreamSync.getCheckpointToResume."""
    orders = CheckpointOrders(reset=reset, ignore=ignore)
    assert orders.resume(known, "t") == resumed
    if known is not None:
        assert orders.are_new_to(known) == (resumed != known.value)


def test_a_commit_that_was_told_a_checkpoint_and_left_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="left none"):
        CheckpointOrders().resume(stored(reset="r"), "t")


def test_a_move_is_refused_where_the_checkpoint_is_another_by_now(root: Folder) -> None:
    commit(root, "20260101000000000", {CHECKPOINT_KEY: "t,0:1"})
    move = CheckpointMove(before=stored("t,0:1"), after="t,0:2", orders=CheckpointOrders(reset="r", ignore="i"))
    assert move.metadata() == {CHECKPOINT_KEY: "t,0:2", RESET_KEY: "r", IGNORE_KEY: "i"}
    assert move.left == stored("t,0:2", "r", "i")
    move.refuse_others(load(root), SYSTEM_CLOCK, "t")
    commit(root, "20260102000000000", {CHECKPOINT_KEY: "t,0:3"})
    with pytest.raises(WriteConflictError, match="moved meanwhile from t,0:1 to t,0:3"):
        move.refuse_others(load(root), SYSTEM_CLOCK, "t")
    with pytest.raises(WriteConflictError, match="from none to t,0:3"):
        CheckpointMove(before=None, after="t,0:2").refuse_others(load(root), SYSTEM_CLOCK, "t")
