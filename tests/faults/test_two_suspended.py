"""Two processes are suspended, each before a change of the storage, so long that their locks and heartbeats are over; a
third does its work meanwhile, and they wake in either order. What was acknowledged is there once, and nothing else.

CI lives through a few of them on a local disk; the night through more, and on the servers that it is given.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyarrow.compute as pc
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import LockNotAcquiredError, WriteConflictError
from spark_jobs.core.format.instant import COMMITS
from spark_jobs.core.locks.storage_lock import LOOKS
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.validation.run import validate
from tests.conftest import CHOSEN
from tests.faults import local_table as local
from tests.faults.faulty_storage import CHANGES, GUARDS, FaultyStorage
from tests.faults.life import COW, MOR, copied
from tests.nightly import NIGHTLY
from tests.support.folder import Folder, folder_of
from tests.support.forks import begun_in_fork
from tests.support.jobs import job_context
from tests.support.locks import outlast
from tests.unit.core.metadata_table.agreement import disagreements

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7200)]
WORLDS = 25 if NIGHTLY else 1
"""Of each test."""
REFUSED = 5
"""The exit code of who was told that another was faster."""
CONF = {
    "hoodie.write.lock.filesystem.expire": "1",
    "hoodie.write.lock.wait_time_ms": "3000",
    "hoodie.metadata.compact.max.delta.commits": "3",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}
BATCHES = {
    "first": local.batch(0, 20, "first", 1),
    "second": local.batch(0, 10, "second", 2),
    "third": local.batch(5, 10, "third", 2),
    "all": local.batch(0, 20, "all", 3),
    "others": local.batch(0, 20, "others", 3),
}
BATCHES["a part"] = BATCHES["all"].filter(pc.equal(BATCHES["all"]["p"], "a"))
"""By idempotency key."""
Act = Callable[[Folder], object]


def write(key: str, path: Folder) -> None:
    local.write(path, BATCHES[key], key)


def archive(path: Folder) -> None:
    run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=local.AT_ONCE), job_context(lake=path.lake))


def maintain(path: Folder) -> None:
    settings = {**local.AT_ONCE, "hoodie.metadata.compact.max.delta.commits": "1"}
    maintain_metadata_table(path.table().transaction_settings(settings), settings, print)


def rewrite(path: Folder) -> None:
    (local.compact if path.table().config.is_merge_on_read else local.cluster)(path)


ACTS: dict[str, Act] = {
    **{key: partial(write, key) for key in ("all", "others", "a part")},
    "rewrite": rewrite,
    "clean": local.clean,
    "archive": archive,
    "maintain": maintain,
    "roll back": local.roll_back,
}


class Suspending(FaultyStorage):
    """Its process is suspended before the change of that number, from 0.

    :param free: only changes that need no lock are counted. Who is suspended in one that does keeps the others out, on
        a disk: nobody takes the lock over in the middle of a change.
    """

    def __init__(self, before: int, inner: Storage, *, free: bool) -> None:
        super().__init__(inner=inner)
        self.left, self.free, self.is_held = before, free, False

    @contextmanager
    def only_while(self, lock: str, token: str) -> Iterator[None]:
        with super().only_while(lock, token):
            self.is_held = True
            try:
                yield
            finally:
                self.is_held = False

    def _call(self, name: str, path: str, action: Callable[..., Any], *arguments: Any) -> Any:
        if name in CHANGES - GUARDS and not (self.free and self.is_held):
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGSTOP)
            self.left -= 1
        return super()._call(name, path, action, *arguments)


class Place(NamedTuple):
    """Who is suspended, and before which of its changes."""

    name: str
    before: int
    free: bool


@dataclass(slots=True)
class Process:
    """An act in a process of its own."""

    name: str
    running: BaseProcess

    @staticmethod
    def begin(name: str, path: Folder, ends: ExitStack, place: Place | None = None) -> Process:
        there = path
        if place is not None:
            there = path.through(Suspending(place.before, path.storage, free=place.free))
        process = begun_in_fork(partial(_act, name, there))
        ends.callback(process.kill)
        return Process(name, process)

    @property
    def is_there(self) -> bool:
        return self.running.exitcode is None

    def wait_for_stop(self) -> None:
        """Or for its end, where it does not come so far."""
        with suppress(psutil.NoSuchProcess):
            while self.is_there and psutil.Process(self.running.pid).status() != psutil.STATUS_STOPPED:
                self.running.join(0.02)
        self.running.join(0.02)

    def end(self) -> int:
        """Its exit code."""
        if self.is_there:
            os.kill(self.running.pid or 0, signal.SIGCONT)
        self.running.join()
        code = self.running.exitcode
        assert code in (0, REFUSED), f"{self.name} ended with {code}"
        return code


def _act(name: str, path: Folder) -> None:
    local.AT_ONCE.update(CONF)
    try:
        ACTS[name](path)
    except (WriteConflictError, LockNotAcquiredError):
        os._exit(REFUSED)


@pytest.fixture(params=CHOSEN or ["local"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """Where several processes see the same."""
    return folder_of(request.param, tmp_path)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_what_was_acknowledged_is_there_once(root: Folder, table_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in CONF.items():
        monkeypatch.setitem(local.AT_ONCE, key, value)
    made, choose = root / "made", random.Random(f"two suspended {table_type}")
    _make(made, table_type)
    places = [place for free in (True, False) for place in _places(made, root, free=free)]
    both = 0
    for number in range(WORLDS):
        path = copied(made, root / f"{number}")
        _age(path)
        two = [choose.choice([one for one in places if one.free]), choose.choice(places)]
        both += _live_through(path, two, choose.choice(list(ACTS)), choose)
        path.remove()
    assert both >= WORLDS // 3


def _places(made: Folder, root: Folder, *, free: bool) -> Iterator[Place]:
    """All, of each act where nobody else is at work."""
    for name, act in ACTS.items():
        path = copied(made, root / f"{name} {free}")
        _age(path)
        storage = Suspending(-1, path.storage, free=free)
        act(path.through(storage))
        for before in range(-1 - storage.left):
            yield Place(name, before, free)


def _live_through(path: Folder, two: Sequence[Place], third: str, choose: random.Random) -> bool:
    """Whether both were suspended, and not refused before."""
    with ExitStack() as ends:
        stopped = []
        for place in two:
            stopped.append(Process.begin(place.name, path, ends, place))
            stopped[-1].wait_for_stop()
            _age(path)
        both = all(one.is_there for one in stopped)
        codes = {third: Process.begin(third, path, ends).end()}
        choose.shuffle(stopped)
        for one in stopped:
            codes[one.name] = min(one.end(), codes.get(one.name, REFUSED))
        wrong = _wrong_of(path, [name for name, code in codes.items() if code == 0])
        left = list(codes)  # as who was refused tries again, and who was not is a retry
        for _ in range(3):  # a pending plan may have what a write wants
            left = [name for name in left if not _is_done(name, path, ends)]
        assert not left, f"{left} are refused though nobody else is there"
    _finish(path)
    wrong += _wrong_of(path, list(codes), is_over=True)
    assert not wrong, f"{two} were suspended before these changes, {third} at work meanwhile: {'; '.join(wrong)}"
    return both


def _make(path: Folder, table_type: str) -> None:
    """A table with some history, a clean that can be archived, and a write that died."""
    local.create(path, table_type)
    for key in ("first", "second", "third"):
        write(key, path)
        local.clean(path)
    local.die_writing(path, local.batch(4, 10, "lost", 5))
    outlast(path)


def _age(path: Folder) -> None:
    """As if all had slept for two hours. No server lets anybody date a file: who has no heartbeat is no more alive than
    one whose heartbeat is old.
    """
    LOOKS.clear()
    if not path.is_local:
        outlast(path)
        path.storage.delete_tree(str(path / ".hoodie" / ".heartbeat"))
        return
    then = int(SYSTEM_CLOCK.now().timestamp() * 1000) - 7_200_000
    beats = path / ".hoodie" / ".heartbeat"
    for one in [path / ".hoodie" / "lock", *(beats.iterdir() if beats.exists() else [])]:
        if one.exists():
            one.date(then)


def _is_done(name: str, path: Folder, ends: ExitStack) -> bool:
    outlast(path)
    return Process.begin(name, path, ends).end() == 0


def _finish(path: Folder) -> None:
    """Take back what died, carry out what is planned, and sweep."""
    outlast(path)
    local.roll_back(path)
    rewrite(path)
    local.clean(path)


def _wrong_of(path: Folder, acknowledged: list[str], *, is_over: bool = False) -> list[str]:
    """:param is_over: nobody is at work any more, and nothing pending may be left."""
    keys = _keys_of(path)
    wrong = [f"{one} was acknowledged, and is gone" for one in acknowledged if one in BATCHES and one not in keys]
    wrong += [f"{one} is there {keys.count(one)} times" for one in {*keys} if keys.count(one) > 1]
    if local.rows_of(path) != local.expected_rows(*(BATCHES[one] for one in keys)):
        wrong.append(f"the rows are not those of {keys}")
    wrong += [str(one) for one in validate(str(path), deep=True, lake=path.lake) if one.is_error or is_over]
    return wrong + ([*local.problems_of(path), *disagreements(path)] if is_over else [])


def _keys_of(path: Folder) -> list[str]:
    """Of the completed writes, in their order."""
    table = path.table(lists_storage=True)
    found: dict[str, CommitMetadata] = {
        one.timestamp: table.timeline.commit_metadata(one, table.clock) for one in table.timeline.completed_commits()
    }
    archived = table.archived_timeline()
    for one in archived.instants:
        if one.is_completed and one.action in COMMITS:
            found.setdefault(one.timestamp, archived.commit_metadata(one))
    return [key for _, one in sorted(found.items()) if (key := one.idempotency_key)]
