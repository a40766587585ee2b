"""Planting bugs in the running code for as long as a block lasts."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from tests.planted_bugs import PLANTED

JOBS = Path(__file__).resolve().parents[2] / "spark_jobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """``changes`` are, by file, texts that stand once in it, and what stands there instead.

    :param hidden_by: what else keeps it from doing harm: no seed finds it alone.
    """

    what: str
    changes: Mapping[str, Mapping[str, str]]
    hidden_by: str = ""

    @staticmethod
    def of_unit_tests(what: str, hidden_by: str = "") -> Bug:
        """One that the unit tests find too."""
        (found,) = [one for one in PLANTED if one.what == what]
        return Bug(what=what, changes={found.file: {found.before: found.after}}, hidden_by=hidden_by)

    def and_also(self, what: str, *others: Bug) -> Bug:
        """Planted together with others."""
        changes: dict[str, dict[str, str]] = {}
        for one in (self, *others):
            for file, texts in one.changes.items():
                changes[file] = {**changes.get(file, {}), **texts}
        return Bug(what=what, changes=changes)

    def planted(self) -> Mapping[str, str]:
        """The texts of its files with it."""
        found = {}
        for file, changes in self.changes.items():
            text = (JOBS / file).read_text()
            for before, after in changes.items():
                assert text.count(before) == 1, f"{self.what}: {before!r} is {text.count(before)} times in {file}"
                text = text.replace(before, after)
            found[file] = text
        return found


@contextmanager
def plant(bug: Bug) -> Iterator[None]:
    """Give the functions of its files the code that they have with it."""
    with ExitStack() as files:
        for file, text in bug.planted().items():
            files.enter_context(_planted(file, text))
        yield


@contextmanager
def _planted(file: str, text: str) -> Iterator[None]:
    name = f"spark_jobs.{file.removesuffix('.py').replace('/', '.')}"
    new = dict(_codes(compile(text, str(JOBS / file), "exec")))
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
