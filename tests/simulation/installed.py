"""What a simulation puts in the place of the system's threads, clock and processes, as long as it lasts.

The clock, the storage and the process table are handed in, or stand in one place, for any code to ask. What is patched
here besides has no such place yet: pools of threads, the thread that shows progress, locks of cached properties.
"""

from __future__ import annotations

import functools
import gc
import importlib
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import spark_jobs.core
import spark_jobs.services
import spark_jobs.write.direct
from spark_jobs.core.clock import SystemClock
from spark_jobs.core.locks import conditions, file_lock, owner, storage_lock
from spark_jobs.engine import progress
from tests.simulation.clock import SimulatedClock, SimulatedProcesses
from tests.simulation.scheduler import Crash

_POOL = "ThreadPoolExecutor"
_OTHER_SERVERS = ("dynamodb", "hdfs", "hive_metastore", "zookeeper")
_OF_THE_CLOCK = ("now", "monotonic", "sleep", "new_uuid", "every")


class _Pool:
    """Does each call when it is asked for."""

    def __init__(self, *given: object, **named: object) -> None:
        return

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *error: object) -> None:
        return

    def submit(self, work: Callable[..., Any], *given: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*given, **named))
        except Exception as error:
            done.set_exception(error)
        return done

    def map(self, work: Callable[..., Any], *items: Iterable[Any]) -> Iterator[Any]:
        done = [self.submit(work, *given) for given in zip(*items, strict=False)]
        return (one.result() for one in done)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        return


class _NoThreading:
    """In the place of the module ``threading``: locks and events as they are, threads that never run."""

    Event, Lock, RLock = threading.Event, threading.Lock, threading.RLock

    class Thread:
        def __init__(self, **given: object) -> None:
            return

        def start(self) -> None:
            return


class _NoLock:
    def __enter__(self) -> None:
        return

    def __exit__(self, *error: object) -> None:
        return


@functools.cache
def _modules() -> tuple[ModuleType, ...]:
    """All of the core, the services and the local way of a write."""
    for package in (spark_jobs.core, spark_jobs.services, spark_jobs.write.direct):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not any(name in found.name for name in _OTHER_SERVERS):
                importlib.import_module(found.name)
    return tuple(module for name, module in sys.modules.items() if name.startswith("spark_jobs."))


@functools.cache
def _cached_properties() -> tuple[functools.cached_property[Any], ...]:
    """Python 3.11 holds a lock of the class while one is computed, which here may take many steps."""
    kinds = [one for module in _modules() for one in vars(module).values() if isinstance(one, type)]
    found = {id(one): one for kind in kinds for one in vars(kind).values()}
    return tuple(one for one in found.values() if isinstance(one, functools.cached_property))


@functools.cache
def _freeze() -> None:
    """What was imported needs no look at the end of each world."""
    gc.collect()
    gc.freeze()


def _forget() -> None:
    """What this process knows of former worlds' locks."""
    storage_lock.LOOKS.clear()
    for kept in (conditions._KEPT, storage_lock._HELD, file_lock._HELD):
        kept.clear()


@contextmanager
def installed(clock: SimulatedClock, processes: SimulatedProcesses) -> Iterator[None]:
    """One at a time in a process. Nothing is collected meanwhile that would close its files at any moment."""
    modules, threads = _modules(), pa.cpu_count()
    _forget()
    _freeze()
    gc.collect()
    gc.disable()
    pa.set_cpu_count(1)
    with ExitStack() as patches:
        patches.callback(pa.set_cpu_count, threads)
        patches.callback(gc.enable)
        for module in modules:
            if hasattr(module, _POOL):
                patches.enter_context(patch.object(module, _POOL, _Pool))
        for one in _cached_properties():
            if hasattr(one, "lock"):
                patches.enter_context(patch.object(one, "lock", _NoLock()))
        for name in _OF_THE_CLOCK:
            patches.enter_context(patch.object(SystemClock, name, staticmethod(getattr(clock, name))))
        patches.enter_context(patch.object(progress, "threading", _NoThreading))
        patches.enter_context(patch.object(progress, "say", lambda *given, **named: None))
        patches.enter_context(patch.object(owner, "PROCESS_TABLE", processes))
        patches.enter_context(patch.object(sys, "unraisablehook", _quiet(sys.unraisablehook)))
        yield


def _quiet(hook: Callable[[Any], object]) -> Callable[[Any], None]:
    """A file that a dead process left open says so when it goes."""

    def said(unraisable: Any) -> None:
        if not isinstance(unraisable.exc_value, Crash):
            hook(unraisable)

    return said
