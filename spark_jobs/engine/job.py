"""The frame of every entry point: options in, one result or one line of error out, and a clean end on SIGTERM."""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

from spark_jobs.core.errors import HudiError, StorageError
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.core.storage.times import skew_note
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.failure import Failure, failure_of
from spark_jobs.engine.on_demand import SparkOnDemand
from spark_jobs.engine.on_node import application, telling
from spark_jobs.engine.output_file import OutputFile
from spark_jobs.engine.progress import Progress, hide, say
from spark_jobs.engine.properties_file import brought
from spark_jobs.engine.streams import separate_stderr
from spark_jobs.engine.submitted import settings_of_objects
from spark_jobs.options import EngineKind, JobOptions, JobResult, OptionsError
from spark_jobs.options.secrets import Hiding, secret_values

Options = TypeVar("Options", bound=JobOptions)

TERMINATED = 128 + signal.SIGTERM
INTERRUPTED = 128 + signal.SIGINT
_TERMINATION = Failure(message="terminated by SIGTERM", exit_code=TERMINATED)
_INTERRUPTION = Failure(message="interrupted", exit_code=INTERRUPTED)


class Terminated(SystemExit):
    """SIGTERM came; raised in the main thread wherever it is, so that every ``finally`` runs."""


def run_job(
    body: Callable[[Options, JobContext], JobResult],
    options_type: type[Options],
    argv: Sequence[str] | None = None,
    *,
    lake: Lake = LAKE,
    verdict: Callable[[JobResult], str | Failure | None] = lambda result: None,
) -> int:
    """Parse the options, run the body, hand over its result; returns the exit code.

    :param verdict: for jobs that judge: a result that it has words for is handed over too, and ends the job with 1 and
        these words, or with a failure's own exit code and line of error.

    The result goes, as JSON, to the last line of stdout and to the storage URL ``--result-file``: whole, and in place
    of what stands there only when the job is done. An error goes to stderr as one line, ``<job>: error: ...``; its
    traceback only with ``--debug``.
    """
    separate_stderr()
    words = list(sys.argv[1:] if argv is None else argv)
    terminated = threading.Event()
    try:
        with _sigterm_raises(terminated):
            return _run(body, options_type, words, lake, verdict)
    except SystemExit as stop:
        if not terminated.is_set() and not _was_interrupted(stop):
            return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        failure = _TERMINATION if terminated.is_set() else _INTERRUPTION
    except BaseException as error:
        if "--debug" in words:
            say(sys.stderr, "".join(traceback.format_exception(error)), end="")
        # What breaks while the JVM goes down with the job is no error of its own.
        if terminated.is_set():
            failure = _TERMINATION
        else:
            failure = _INTERRUPTION if _was_interrupted(error) else failure_of(error)
    say(sys.stderr, f"{options_type.job}: error: {failure.message}")
    return failure.exit_code


def _run(
    body: Callable[[Options, JobContext], JobResult],
    options_type: type[Options],
    words: Sequence[str],
    lake: Lake,
    verdict: Callable[[JobResult], str | Failure | None],
) -> int:
    hide(())
    options = options_type.from_args(words)
    hide(options.secrets())
    of_submit = settings_of_objects(_all_texts(words, options))
    hide((*options.secrets(), *secret_values(of_submit.items())))
    lake = lake.reached_by(of_submit).reached_by(dict(options.storage_options))
    with brought(options, lake) as options:
        hiding = hide((*options.secrets(), *secret_values(of_submit.items())))
        return _carry_out(body, options, lake, hiding, verdict)


def _all_texts(words: Sequence[str], options: JobOptions) -> Iterator[str]:
    """All that the job was given, where a URL may stand."""
    yield from words
    yield json.dumps(options.private_values())
    with suppress(OptionsError):  # whoever needs the file of properties reports it
        yield from options.hoodie_properties().values()


def _carry_out(
    body: Callable[[Options, JobContext], JobResult],
    options: Options,
    lake: Lake,
    hiding: Hiding,
    verdict: Callable[[JobResult], str | Failure | None],
) -> int:
    """
    :param lake: which the settings of the job reach.
    """
    place, base_path = options.result_file, options.base_path
    target = OutputFile.checked("--result-file", place, base_path, lake) if place else None
    with telling(target, hiding) as tell, application(options.job, debug=options.debug):
        judged = _work(body, options, lake, hiding, target, verdict)
        if isinstance(judged, Failure):
            tell(judged)
            say(sys.stderr, f"{options.job}: error: {judged.message}")
            return judged.exit_code
        if judged is not None:
            tell(Failure(message=judged, exit_code=1))
            say(sys.stderr, f"{options.job}: {judged}")
        return 0 if judged is None else 1


def _work(
    body: Callable[[Options, JobContext], JobResult],
    options: Options,
    lake: Lake,
    hiding: Hiding,
    target: OutputFile | None,
    verdict: Callable[[JobResult], str | Failure | None],
) -> str | Failure | None:
    """What the verdict on the result is, which is handed over then."""
    progress = Progress(options.job, clock=lake.clock)
    _note_skew(options.base_path, progress, lake)
    # a job without the option works in this process
    kind: EngineKind = getattr(options, "engine", EngineKind.LOCAL)
    with SparkOnDemand(options.job, debug=options.debug, kind=kind, clock=lake.clock) as engine:
        result = body(options, JobContext(lake=lake, progress=progress, engine=engine))
    result = dataclasses.replace(
        result,
        base_path=result.base_path or options.base_path,
        table=result.table or options.table_name,
        seconds_by_phase={**progress.seconds_by_phase, **result.seconds_by_phase},
    )
    shown: Any = hiding.within({"reason": result.reason, "plan": result.plan, "extra": result.extra})
    result = dataclasses.replace(result, **shown)
    say(sys.stdout, result.to_json(), as_is=True)  # in which a number may look like a secret
    if target:
        _hand_over(target, result)
    return verdict(result)


def _note_skew(base_path: str, progress: Progress, lake: Lake) -> None:
    """Where this host and the storage of a table don't agree on the time."""
    if not base_path:
        return
    with suppress(HudiError):  # a path that is none, or can't be reached, the job itself reports
        place = lake.place(base_path)
        line = skew_note(place.storage, f"{place.path}/{META_FOLDER}", lake.clock)
        if line is not None:
            progress.warn(line)


def _hand_over(target: OutputFile, result: JobResult) -> None:
    try:
        target.write(result.to_json().encode() + b"\n")
    except (HudiError, OptionsError) as error:
        what = error.what if isinstance(error, HudiError) else str(error)
        raise StorageError(
            f"the job is {result.state} but its result could not be written ({what})",
            todo="take it from stdout, and give another --result-file",
            path=target.location,
        ) from error


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


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether it is an interrupt, or an error that an interrupt led to."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
