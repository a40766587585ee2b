"""The active timeline: what a load sees, how instants move, and files that are not whole yet."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import AlreadyExistsError, CorruptTableError, InstantStateError, InstantTakenError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import begin_at_once, open_savepoint, request, transition
from tests.support.folder import Folder
from tests.support.payloads import stored
from tests.support.through import Through
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


def load(folder: Folder, *names: str) -> ActiveTimeline:
    for name in names:
        (folder / name).write_bytes(b"")
    return ActiveTimeline.load(folder.storage, str(folder), str(folder / "archived"), format=VERSION_6)


def test_each_instant_counts_in_its_highest_state(root: Folder) -> None:
    line = load(
        root,
        "3.compaction.requested",
        "3.compaction.inflight",
        "3.commit",
        "2.deltacommit.requested",
        "2.deltacommit.inflight",
        "1.deltacommit",
        "1.deltacommit.inflight",
        "0.savepoint",
        "hoodie.properties",
    )
    assert [str(one) for one in line.instants] == [
        "0 savepoint (completed)",
        "1 deltacommit (completed)",
        "2 deltacommit (inflight)",
        "3 commit (completed)",
    ]
    assert [one.timestamp for one in line.completed_commits()] == ["1", "3"]
    assert [one.timestamp for one in line.pending_writes()] == ["2"]
    assert line.last_time == "3"
    last = line.last_completed()
    assert last is not None
    assert last.timestamp == "3"


def test_an_empty_timeline(root: Folder) -> None:
    line = load(root)
    assert (line.instants, line.last_time, line.start, line.last_completed()) == ((), "", "", None)


def test_an_instant_moves_step_by_step_and_once(root: Folder) -> None:
    line = load(root)
    requested = request(line, "1", Action.COMMIT)
    with pytest.raises(InstantTakenError, match=r"^1\.commit\.requested is on the timeline already: .*: run it again$"):
        request(line, "1", Action.COMMIT)
    inflight = transition(line, requested, State.INFLIGHT, b"")
    with pytest.raises(InstantTakenError, match=r"^1\.inflight is on the timeline already") as caught:
        transition(line, requested, State.INFLIGHT, b"")
    assert caught.value.exit_code == 3
    done = transition(line, inflight, State.COMPLETED, b"{}")
    assert line.reload().instants == (done,)
    with pytest.raises(InstantStateError, match=r"is gone.*: another process .*run it again$"):
        transition(line, Instant("2", Action.COMMIT, State.INFLIGHT), State.COMPLETED, b"{}")


@pytest.mark.parametrize("action", sorted(set(Action) - {Action.SAVEPOINT}))
def test_no_step_is_left_out_and_none_goes_back(root: Folder, action: Action) -> None:
    line = load(root)
    requested = request(line, "1", action)
    for state in (State.COMPLETED, State.REQUESTED):
        with pytest.raises(InstantStateError, match=f"1 {action} \\(requested\\) can't become {state}"):
            transition(line, requested, state, b"")
    inflight = transition(line, requested, State.INFLIGHT, b"")
    done = transition(line, inflight, State.COMPLETED, b"")
    for state in State:
        with pytest.raises(InstantStateError, match=f"can't become {state}"):
            transition(line, done, state, b"")
    assert line.reload().instants == (done,)


def test_an_instant_is_begun_at_once(root: Folder) -> None:
    line = load(root)
    begun = begin_at_once(line, "1", Action.ROLLBACK, plan=b"what", profile=b"how")
    assert line.reload().instants == (begun,) == (Instant("1", Action.ROLLBACK, State.INFLIGHT),)
    assert [line.storage.read(line.path(begun.at(state))) for state in State if state is not State.COMPLETED] == [
        b"what",
        b"how",
    ]
    with pytest.raises(InstantTakenError):
        begin_at_once(line, "1", Action.ROLLBACK)


def test_a_savepoint_starts_inflight_and_needs_a_completed_write(root: Folder) -> None:
    line = load(root, "1.commit", "2.commit.requested", "3.clean")
    with pytest.raises(InstantStateError, match="it starts inflight"):
        request(line, "1", Action.SAVEPOINT)
    for time in ("0", "2", "3"):
        with pytest.raises(InstantStateError, match=f"{time} can't be saved"):
            open_savepoint(line, time)
    inflight = open_savepoint(line, "1")
    with pytest.raises(AlreadyExistsError):
        open_savepoint(line, "1")
    transition(line, inflight, State.COMPLETED, b"")
    assert (root / "1.savepoint").exists()


def test_a_commit_file_that_is_still_being_written_is_waited_for(root: Folder) -> None:
    line = load(root, "1.commit")
    whole = stored(CommitMetadata(operation_type=OperationType.INSERT).payload())
    steps = iter([whole[:10], whole])
    clock = HandClock()

    def write() -> None:
        (root / "1.commit").write_bytes(next(steps))

    clock.on_sleep = write
    found = line.commit_metadata(line.instants[0], clock)
    assert found.operation_type is OperationType.INSERT
    assert clock.passed == pytest.approx(0.4)


def test_a_commit_file_that_stays_cut_is_corrupt(root: Folder) -> None:
    line = load(root)
    (root / "1.commit").write_bytes(b'{"a"')
    with pytest.raises(CorruptTableError, match=r"1\.commit"):
        line.reload().commit_metadata(Instant("1", Action.COMMIT, State.COMPLETED), HandClock())


def test_old_instants_count_as_archived_only_where_something_was(root: Folder) -> None:
    """A rolled-back first write is older than all that is left, and was never archived."""
    assert load(root, "2.rollback", "3.commit").start == ""
    archive = root / "archived"
    archive.mkdir()
    (archive / ".commits_.archive.1_1-0-1").touch()
    # cleans and rollbacks are archived by counts of their own: an old one does not move the start back
    line = load(root, "2.rollback", "3.commit")
    assert (line.start, line.unbroken_from) == ("3", "3")
    # archival beyond savepoints may have taken writes between one that is saved and the next
    line = load(root, "3.savepoint", "6.commit")
    assert (line.start, line.unbroken_from) == ("3", "6")


class Listing(Through):
    """With the folders that were listed, by their names."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.listed: list[str] = []

    def list(self, path: str) -> list[FileStatus]:
        self.listed.append(path.rpartition("/")[2])
        return self.inner.list(path)


def test_an_archive_is_listed_when_somebody_asks_and_once(root: Folder) -> None:
    storage = Listing(root.storage)
    line = load(root.through(storage), "3.commit")
    assert storage.listed == [root.name]
    assert not line.has_archive
    # a listing in the order of names shows that there is none; a local disk gives them in any order
    assert storage.listed[1:] == ([] if root.storage.capabilities.ordered else ["archived"])
    (root / "archived").mkdir()
    (root / "archived" / ".commits_.archive.1_1-0-1").touch()
    storage.listed.clear()
    line = line.reload()
    assert storage.listed == [root.name]
    for _ in range(3):
        assert line.has_archive
    assert storage.listed == [root.name, "archived"]


def test_an_archival_that_a_listing_caught_halfway(root: Folder) -> None:
    """Of a long folder a page may come before an archival and the next after it: what looks pending was archived."""
    load(root, "1.commit.requested", "1.inflight", "3.commit")

    class Torn(Through):
        lists = 0

        def list(self, path: str) -> list[FileStatus]:
            found = self.inner.list(path)
            if path == str(root):
                self.lists += 1
                if self.lists == 1:
                    (root / "archived").mkdir()
                    (root / "archived" / ".commits_.archive.1_1-0-1").touch()
                    for name in ("1.commit.requested", "1.inflight"):
                        (root / name).unlink()
            return found

    line = load(root.through(Torn(root.storage)))
    assert [str(one.timestamp) for one in line.instants] == ["3"]


def test_which_folders_a_listing_lacks(root: Folder) -> None:
    (root / "archived").mkdir()
    (root / "archived" / "a").touch()
    line = load(root, "3.commit")
    assert not line.lacks(str(root / "archived" / "b"))
    assert line.lacks(str(root / ".aux" / "pyhudi.source"))
    assert not line.lacks("/elsewhere/.aux")
