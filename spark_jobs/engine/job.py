"""The frame of every entry point: options in, one result or one line of error out, and a clean end on SIGTERM."""

from __future__ import annotations

import dataclasses
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.storage import locate
from spark_jobs.engine.failure import Failure, failure_of
from spark_jobs.engine.progress import Progress, say
from spark_jobs.engine.streams import separate_stderr
from spark_jobs.options import JobOptions, JobResult

Options = TypeVar("Options", bound=JobOptions)

TERMINATED = 128 + signal.SIGTERM
INTERRUPTED = 128 + signal.SIGINT
_TERMINATION = Failure(message="terminated by SIGTERM", exit_code=TERMINATED)


class Terminated(SystemExit):
    """SIGTERM came; raised in the main thread wherever it is, so that every ``finally`` runs."""


def run_job(
    body: Callable[[Options, Progress], JobResult],
    options_type: type[Options],
    argv: Sequence[str] | None = None,
    *,
    clock: Clock = SYSTEM_CLOCK,
) -> int:
    """Parse the options, run the body, hand over its result; returns the exit code.

    The result goes, as JSON, to the storage URL ``--result-file`` (whole or not at all) and to the last line of
    stdout. An error goes to stderr as one line, ``<job>: error: ...``; its traceback only with ``--debug``.
    """
    separate_stderr()
    words = list(sys.argv[1:] if argv is None else argv)
    terminated = threading.Event()
    try:
        with _sigterm_raises(terminated):
            return _run(body, options_type, words, clock)
    except KeyboardInterrupt:
        failure = Failure(message="interrupted", exit_code=INTERRUPTED)
    except SystemExit as stop:
        if not terminated.is_set():
            return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        failure = _TERMINATION
    except Exception as error:
        if "--debug" in words:
            say(sys.stderr, "".join(traceback.format_exception(error)), end="")
        # What breaks while the JVM goes down with the job is no error of its own.
        failure = _TERMINATION if terminated.is_set() else failure_of(error)
    say(sys.stderr, f"{options_type.job}: error: {failure.message}")
    return failure.exit_code


def _run(
    body: Callable[[Options, Progress], JobResult], options_type: type[Options], words: Sequence[str], clock: Clock
) -> int:
    options = options_type.from_args(words)
    target = locate(options.result_file) if options.result_file else None
    progress = Progress(options_type.job, clock=clock)
    result = body(options, progress)
    result = dataclasses.replace(
        result,
        base_path=result.base_path or options.base_path,
        table=result.table or options.table_name,
        seconds_by_phase={**progress.seconds_by_phase, **result.seconds_by_phase},
    )
    line = result.to_json()
    if target:
        storage, path = target
        storage.replace(path, line.encode() + b"\n")
    say(sys.stdout, line)
    return 0


@contextmanager
def _sigterm_raises(terminated: threading.Event) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not break off the clean end
        terminated.set()
        raise Terminated(TERMINATED)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
