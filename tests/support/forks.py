"""Processes forked from one that has imported the code and done nothing else: a fork of who has used a server lacks the
threads of its client, and one that begins anew imports for seconds.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

from pyspark import cloudpickle

_PRELOADED = ["pytest", "hypothesis", "tests.faults.broken_calls", "tests.unit.services.by_hand", __name__]
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(_PRELOADED)


def in_fork_of_server(work: Callable[[], object]) -> int:
    """The exit code of a process that ends without cleaning up: 0 done, 1 an error, or its own.

    What a test has replaced in modules is not replaced there; the environment is this process's.
    """
    with tempfile.NamedTemporaryFile() as told:
        process = begun_in_fork(work, told.name)
        process.join()
        sys.stderr.write(Path(told.name).read_text(errors="replace"))
    assert process.exitcode is not None
    return process.exitcode


def begun_in_fork(work: Callable[[], object], told: str = os.devnull) -> BaseProcess:
    """The process of :func:`in_fork_of_server`, which has begun.

    :param told: a file for what it says.
    """
    process = _CONTEXT.Process(target=_run, args=(cloudpickle.dumps(work), dict(os.environ), told))
    process.start()
    return process


def _run(work: bytes, environment: dict[str, str], told: str) -> None:
    with open(told, "ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    os.environ.clear()
    os.environ.update(environment)
    pickle.loads(work)()
    sys.stderr.flush()
    os._exit(0)
