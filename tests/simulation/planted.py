"""Bugs that simulated worlds find, planted in the running code for as long as a block lasts."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from tests.planted_bugs import PLANTED

JOBS = Path(__file__).resolve().parents[2] / "spark_jobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """``changes`` are texts that stand once in the file, and what stands there instead."""

    what: str
    file: str
    changes: Mapping[str, str]

    def planted(self) -> str:
        """The text of the file with it."""
        text = (JOBS / self.file).read_text()
        for before, after in self.changes.items():
            assert text.count(before) == 1, f"{self.what}: {before!r} is {text.count(before)} times in {self.file}"
            text = text.replace(before, after)
        return text


_TRANSACTION = "core/transaction/transaction.py"
_OWN = (
    Bug(
        what="the timeline is read before the lock of a publish is held",
        file=_TRANSACTION,
        changes={
            "        with self.settings.new_lock() as locked:\n"
            "            storage, timeline = locked.storage, locked.load_timeline()\n": (
                "        timeline = self.settings.load_timeline()\n"
                "        with self.settings.new_lock() as locked:\n"
                "            storage = locked.storage\n"
            )
        },
    ),
    Bug(
        what="a writer that lost its lock goes on",
        file="core/locks/fenced_storage.py",
        changes={
            "        return self.lease.held(self.unfenced)\n": '        return __import__("contextlib").nullcontext()\n'
        },
    ),
    Bug(
        what="a commit is completed before the metadata table has it",
        file=_TRANSACTION,
        changes={
            "            locked.update_metadata_table(timeline, self.instant, payload)\n": "",
            "            done = self._complete(timeline, timeline.payloads.encode(payload))\n": (
                "            done = self._complete(timeline, timeline.payloads.encode(payload))\n"
                "            locked.update_metadata_table(timeline, self.instant, payload)\n"
            ),
        },
    ),
    Bug(
        what="a marker is made after its file",
        file="core/handles/context.py",
        changes={
            "            create_marker(\n"
            "                self.storage, self.base_path, self.instant, partition, file_name, kind, durable=False\n"
            "            )  # until its file is forced\n": "            pass\n",
            "        marker = marker_path(self.base_path, self.instant, Marker(partition, file_name, kind))\n": (
                "        create_marker(\n"
                "            self.storage, self.base_path, self.instant, partition, file_name, kind, durable=False\n"
                "        )\n"
                "        marker = marker_path(self.base_path, self.instant, Marker(partition, file_name, kind))\n"
            ),
        },
    ),
    Bug(
        what="a lock of a store of objects is taken over whoever holds it by now",
        file="core/locks/storage_lock.py",
        changes={
            "            self._storage.replace_if(self._settings.path, content, etag)\n": (
                "            self._storage.replace(self._settings.path, content)\n"
            )
        },
    ),
)
_OF_UNIT_TESTS = frozenset(
    {
        "the timeline is read before the lock is held",
        "a write is published whose instant was rolled back",
        "two writers of one file group both win",
        "a writer that died lives for ever",
        "a live writer is rolled back",
        "a retry writes beside the try that is running",
        "keys that others inserted while theirs were compared are inserted again",
        "cleaning takes what a pending write builds upon",
        "file groups of pending plans are planned again",
        "a rollback is finished whose target was completed",
    }
)
BUGS = (
    *_OWN,
    *(
        Bug(what=one.what, file=one.file, changes={one.before: one.after})
        for one in PLANTED
        if one.what in _OF_UNIT_TESTS
    ),
)


@contextmanager
def plant(bug: Bug) -> Iterator[None]:
    """Give the functions of its file the code that they have with it."""
    name = f"spark_jobs.{bug.file.removesuffix('.py').replace('/', '.')}"
    new = dict(_codes(compile(bug.planted(), str(JOBS / bug.file), "exec")))
    old = {function: function.__code__ for function in _functions(importlib.import_module(name))}
    try:
        for function, code in old.items():
            function.__code__ = new.get(code.co_qualname, code)
        yield
    finally:
        for function, code in old.items():
            function.__code__ = code


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner.co_qualname, inner
            yield from _codes(inner)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Those of a module and of the methods of its classes, below their decorators."""
    own = [one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__]
    for one in [*own, *(inner for kind in own if isinstance(kind, type) for inner in vars(kind).values())]:
        found = getattr(one, "fget", None) or getattr(one, "__func__", None) or one
        if isinstance(found, functools.cached_property):
            found = found.func
        found = getattr(found, "__wrapped__", found)
        if isinstance(found, FunctionType) and found.__module__ == module.__name__:
            yield found
