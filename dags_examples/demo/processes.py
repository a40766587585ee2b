"""Ending Airflow and all that it started, without a trace of it that looks like work."""

from __future__ import annotations

import signal
import subprocess

import psutil

from spark_jobs.core.clock import Clock

_STOP_SECONDS = 20


def end_tree(child: subprocess.Popen[str], clock: Clock) -> None:
    """SIGTERM to all that Airflow started, SIGKILL to Airflow, and to what is left after a while.

    Airflow is held first: it would take the end of a job for a failed task, and start the next one.
    """
    try:
        airflow = psutil.Process(child.pid)
        airflow.suspend()
        jobs = airflow.children(recursive=True)
    except psutil.NoSuchProcess:
        return
    for job in jobs:
        _signal(job, signal.SIGTERM)
    deadline = clock.monotonic() + _STOP_SECONDS
    while any(map(_alive, jobs)) and clock.monotonic() < deadline:
        clock.sleep(0.1)
    for process in (airflow, *filter(_alive, jobs)):
        _signal(process, signal.SIGKILL)
    child.wait()


def _alive(process: psutil.Process) -> bool:
    """A zombie has ended, though in a container without an init nobody may ever bury it."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
