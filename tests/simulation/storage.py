"""The storage of a simulated world: every call is a step of the scheduler, at which a fault may happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import pyarrow as pa

from spark_jobs.core.errors import AlreadyExistsError, LockNotAcquiredError, StorageError, WriteConflictError
from spark_jobs.core.storage import Capabilities, Content, FileStatus
from spark_jobs.core.storage.protocol import SMALL_FILE
from tests.simulation.objects import Folders, Objects
from tests.simulation.power import Unforced
from tests.simulation.scheduler import Crash, Process, Scheduler
from tests.simulation.weather import Fault, Place, Weather, place_of
from tests.support.object_store import Upload

T = TypeVar("T")
_GUARD_WAIT_MS = 10_000
_GUARD_PAUSE_SECONDS = 0.05
_IN_PARTS = 0.3
_JUMPS_MS = (-1_500_000, -60_000, -2_000, 0, 2_000, 60_000, 1_500_000)
CHANGES = frozenset({"create", "replace", "replace_if", "delete", "delete_if", "write", "open_output", "close"})
_GUARDS = frozenset({"only_while", "while_alone"})
_SHARED = frozenset({Place.TIMELINE, Place.LOCK, Place.HEARTBEAT})


@dataclass(frozen=True, slots=True)
class Step:
    """A call, or what a role says; ``what`` became of it."""

    number: int
    ms: float
    who: str
    call: str
    path: str
    what: str = ""

    @property
    def is_change(self) -> bool:
        return self.call in CHANGES

    def __str__(self) -> str:
        what = f": {self.what}" if self.what else ""
        return f"{self.number:6} {self.ms / 1000:10.3f} s  {self.who:22} {self.call} {self.path}{what}"


class SimulatedStorage:
    """A store of objects; ``guarded`` like a local disk: the lock stays while a change is made under it, a file that is
    written is there from the beginning, folders stay, and what was not forced may be lost.

    :param observe: asked of each file that a call put or removed (None), right after it took effect.
    """

    def __init__(
        self,
        objects: Objects,
        scheduler: Scheduler,
        weather: Weather,
        *,
        guarded: bool,
        observe: Callable[[str, bytes | None, Process | None], None],
    ) -> None:
        self.objects = objects
        self.scheduler = scheduler
        self.weather = weather
        self.guarded = guarded
        self.steps: list[Step] = []
        self.lost_power = False
        self.left_by_dead: set[str] = set()
        """Paths of data files whose task died before it could see that it made them too late."""
        self.observe = observe
        self._unforced, self._folders = Unforced(), Folders()
        self._inside: dict[str, list[tuple[Process | None, bool]]] = {}
        self._closed: dict[Process | None, str] = {}
        scheduler.on_death.append(self._let_out)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            shared=True, guarded=self.guarded, linked=False, ordered=True, put_when_closed=not self.guarded
        )

    def relaxed(self) -> SimulatedStorage:
        return self

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._change("create", path, lambda: self.objects.create(path, data, self._now), data, durable=durable)

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._change("replace", path, lambda: self.objects.replace(path, data, self._now), data, durable=durable)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        self._change("replace_if", path, lambda: self.objects.replace_if(path, data, etag, self._now), data)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        data = self._call("read", path, lambda: self.objects.read(path))
        return data[offset:] if length is None else data[offset : offset + length]

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        return self._call("load", path, lambda: self.objects.load(path, most))

    def read_listed(self, path: str, etag: str) -> bytes:
        return self.read(path)

    def list(self, path: str) -> list[FileStatus]:
        return self._listed("list", path, self.objects.list)

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        yield from (one for one in self._listed("walk", path, self.objects.below) if one.path > after)

    def stat(self, path: str) -> FileStatus | None:
        return self._call("stat", path, lambda: self.objects.stat(path))

    def has_folder(self, path: str) -> bool:
        return self._call("has_folder", path, lambda: self._folders.has(path) or bool(self.objects.below(path)))

    def is_unpublished(self, name: str) -> bool:
        return False

    def guard_of(self, lock: str) -> None:
        return None

    def first_link(self, path: str, below: str) -> None:
        return None

    def delete(self, path: str) -> bool:
        return self._change("delete", path, lambda: self.objects.delete(path), None)

    def delete_files(self, paths: Sequence[str]) -> Sequence[bool]:
        return [self.delete(path) for path in paths]

    def discard(self, paths: Sequence[str]) -> None:
        self.delete_files(paths)

    def delete_if(self, path: str, etag: str) -> bool:
        return self._call("delete_if", path, lambda: self.objects.delete_if(path, etag))

    def delete_tree(self, path: str) -> None:
        for status in self._call("list_tree", path, lambda: self.objects.below(path)):
            self.delete(status.path)
        self._folders.remove(path)

    def remove_empty_directory(self, path: str) -> bool:
        if self._call("list", path, lambda: self.objects.below(path)) or self._folders.has_more_below(path):
            return False
        self._folders.remove(path)
        return True

    def make_directory(self, path: str) -> None:
        self._make_folder(path)

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        return pa.BufferReader(self._call("open_input", path, lambda: self.objects.read(path)))

    def open_output(self, path: str) -> pa.NativeFile:
        def make() -> None:
            if self.objects.stat(path) is not None:
                raise AlreadyExistsError(f"{path} exists already", path=path)
            if self.guarded:
                self.objects.create(path, b"", self._now)
                self._unforced.add(path, None)
                self._make_folder(path.rpartition("/")[0])

        self._call("open_output", path, make)
        return pa.PythonFile(_Upload(self, path), mode="w")

    def sync(self, paths: Sequence[str], names: Sequence[str] = ()) -> None:
        for path in (*paths, *names) if self.guarded else ():
            self._call("sync", path, partial(self._force, path, must_be_there=path in paths))

    @contextmanager
    def only_while(self, lock: str, token: str) -> Iterator[None]:
        def why_not() -> str:
            if self.objects.stat(lock) is None:
                return "its file was removed"
            return "" if token.encode() in self.objects.read(lock) else "another process took it over"

        with self._guard("only_while", lock, _GUARD_WAIT_MS, shared=True):
            if why := why_not():
                raise WriteConflictError(f"the table lock {lock} was lost: {why}", todo="run it again", path=lock)
            yield

    @contextmanager
    def while_alone(self, lock: str, name: str, *, wait_ms: int = _GUARD_WAIT_MS) -> Iterator[None]:
        with self._guard("while_alone", lock, wait_ms, shared=False):
            yield

    def clock_ms(self, folder: str) -> int:
        return self._call("clock_ms", folder, lambda: self.objects.date(self._now))

    def note(self, what: str) -> None:
        """A line of the running role among the steps."""
        self._log("", "", what)

    def put_upload(self, path: str, data: bytes, etag: str, *, whole: bool) -> str:
        """What was written so far, of a file that is being written where ``whole`` is False; the version that it is.

        :param etag: of what a disk has of it: where that was removed meanwhile, nobody sees what is written.
        """
        name = "close" if whole else "write"
        self._closed[self.scheduler.process] = path
        self._change(name, path, lambda: self._go_on(path, data, etag), data, durable=False)
        return self.etag_of(path)

    def _go_on(self, path: str, data: bytes, etag: str) -> None:
        if not self.guarded:
            self.objects.create(path, data, self._now)
        elif etag and self.etag_of(path) == etag:
            self.objects.replace(path, data, self._now)

    def etag_of(self, path: str) -> str:
        """Without a call; empty where there is no such file."""
        status = self.objects.stat(path)
        return "" if status is None else status.etag

    @property
    def _now(self) -> float:
        return self.scheduler.now_ms

    @contextmanager
    def _guard(self, call: str, lock: str, wait_ms: float, *, shared: bool) -> Iterator[None]:
        inside = self._inside.setdefault(lock, [])
        own = (self.scheduler.process, shared)

        def enter() -> bool:
            is_free = not self.guarded or all(shared and other for _, other in inside)
            if is_free:
                inside.append(own)
            return is_free

        deadline = self._now + wait_ms
        while not self._call(call, lock, enter):
            if self._now >= deadline:
                raise LockNotAcquiredError(f"{lock} is in the middle of a change", todo="run it again", path=lock)
            self.scheduler.sleep(_GUARD_PAUSE_SECONDS)
        try:
            yield
        finally:
            with suppress(ValueError):  # the system let a dead process out
                inside.remove(own)

    def _let_out(self, process: Process) -> None:
        if not self.guarded and process in self._closed:
            self.left_by_dead.add(self._closed[process])
        for inside in self._inside.values():
            inside[:] = [one for one in inside if one[0] is not process]

    def _listed(self, call: str, path: str, find: Callable[[str], list[FileStatus]]) -> list[FileStatus]:
        """Names in their order; some listings come in two parts, between which others may do what they like."""
        first = self._call(call, path, lambda: find(path))
        if len(first) < 2 or self.scheduler.process is None or self.scheduler.random.random() >= _IN_PARTS:
            return first
        first = first[: len(first) // 2]
        more = self._call(f"{call} the rest", path, lambda: find(path))
        return [*first, *(one for one in more if one.path > first[-1].path)]

    def _change(self, call: str, path: str, act: Callable[[], T], data: bytes | None, *, durable: bool = True) -> T:
        def observed() -> T:
            before = self.objects.peek(path)
            found = act()
            if data is not None:
                self._make_folder(path.rpartition("/")[0])
            if durable:
                self._unforced.force(path)
            elif self.guarded:
                self._unforced.add(path, before)
            self.observe(path, data, self.scheduler.process)
            return found

        return self._call(call, path, observed)

    def _force(self, path: str, *, must_be_there: bool) -> None:
        if must_be_there:
            self.objects.read(path)
        self._unforced.force(path)

    def _make_folder(self, path: str) -> None:
        if self.guarded:
            self._folders.make(path)

    def _lose_power(self) -> None:
        """All processes die."""
        self.lost_power = True
        self.scheduler.kill_all()
        self._unforced.lose(self.objects, self.scheduler.random, self._now)

    def _call(self, call: str, path: str, act: Callable[[], T]) -> T:
        is_change = call in CHANGES
        kind = "change" if is_change else "guard" if call in _GUARDS else "read"
        scheduler, place = self.scheduler, place_of(path)
        scheduler.step(call, path, is_change=is_change, is_aimed=place is self.weather.aim)
        process = scheduler.process
        if process is None:
            return act()
        fault = _fated(process) or self.weather.at(scheduler.steps, scheduler.random, kind, place)
        if fault is Fault.SUSPEND:
            self._suspend(process, call, path, is_change=is_change)
        elif fault is Fault.JUMP:
            process.skew_ms = scheduler.random.choice(_JUMPS_MS)
            self._log(call, path, f"{fault.value}, {process.skew_ms / 1000:g} s ahead now")
        elif fault is Fault.CRASH_BEFORE:
            self._die(process, call, path, fault)
        elif fault is Fault.REFUSE:
            self._log(call, path, fault.value)
            raise StorageError(f"{call} of {path} was refused (simulated)", path=path)
        dies_after = fault in (Fault.CRASH_AFTER, Fault.POWER_LOSS)
        try:
            found = act()
        except Exception as error:
            self._log(call, path, type(error).__name__)
            if dies_after:
                self._die(process, call, path, fault)
            raise
        if dies_after:
            self._die(process, call, path, fault)
        self._log(call, path, fault.value if fault is Fault.LOSE_ANSWER else "")
        if is_change and place in _SHARED:
            scheduler.wake_some()
        if place is Place.MARKER:
            self._closed.pop(process, None)  # it looks, or is over
        if fault is Fault.LOSE_ANSWER:
            raise StorageError(f"the answer to {call} of {path} was lost (simulated)", path=path)
        return found

    def _suspend(self, process: Process, call: str, path: str, *, is_change: bool) -> None:
        is_change = not process.is_executor and (is_change or self.scheduler.is_before_change(process))
        ms = self.weather.suspension_ms(self.scheduler.random, is_change=is_change)
        ms = min(ms, max(process.wakes_by - self._now, 0.0))
        self._log(call, path, f"{Fault.SUSPEND.value} for {ms / 1000:g} s")
        self.scheduler.suspend(process, ms)

    def _die(self, process: Process, call: str, path: str, fault: Fault) -> None:
        self._log(call, path, fault.value)
        if fault is Fault.POWER_LOSS:
            self._lose_power()
        else:
            self.scheduler.kill(process)
        raise Crash(fault.value)

    def _log(self, call: str, path: str, what: str) -> None:
        task, process = self.scheduler.current, self.scheduler.process
        own = process.role if process else ""
        thread = "" if task is None or task.name == own else f" {task.name}"
        who = f"{own} {process.pid}{thread}" if process else task.name if task else ""
        short = path.partition("/t/")[2] or path
        self.steps.append(Step(self.scheduler.steps, self.scheduler.now_ms, who, call, short, what))


def _fated(process: Process) -> Fault | None:
    """What was to happen to a process at this call."""
    fate = process.fate
    if fate is None:
        return None
    process.fate = replace(fate, calls=fate.calls - 1) if fate.calls else None
    return None if fate.calls else fate.fault


class _Upload(Upload):
    """A file that is written by one process: on a store it is put when it is closed; half of it is on a disk before."""

    def __init__(self, storage: SimulatedStorage, path: str) -> None:
        super().__init__()
        self._storage, self._path = storage, path
        self._process = storage.scheduler.process
        self._etag = storage.etag_of(path)

    def put(self, data: bytes) -> None:
        if self._process is not self._storage.scheduler.process:  # what a dead process left open
            return
        if self._storage.guarded:
            self._etag = self._storage.put_upload(self._path, data[: len(data) // 2], self._etag, whole=False)
        self._storage.put_upload(self._path, data, self._etag, whole=True)
