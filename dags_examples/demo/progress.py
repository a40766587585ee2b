"""Airflow's own output, turned into one line per task."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TextIO

from spark_jobs.core.clock import Clock

_STARTED = re.compile(r"\[DAG TEST\] starting task_id=(\S+)")
_ENDED = re.compile(r"\[DAG TEST\] end task task_id=(\S+)")
_NOTHING = re.compile(r"(Nothing to do|Done before): (.*)")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_LOGGER = re.compile(r"\s+\[[\w.]+\](?: \w+=\S+)*\s*$")
_ERRORS = (re.compile(r"\b\w+: error: .*"), re.compile(r"\w*(?:Error|Exception): .*"))
_WORDS = {"success": "done", "up_for_retry": "failed, will be tried again"}


def follow(
    lines: Iterable[str], log: TextIO, out: TextIO, clock: Clock, state_of: Callable[[str], str | None]
) -> tuple[str, ...]:
    """Copy ``lines`` to ``log`` and write a line per task to ``out``; the tasks whose last try failed are returned.

    The name of a task appears when it starts, its outcome and seconds when it ends. ``state_of`` gives Airflow's state.
    """
    began = clock.monotonic()
    running = reason = ""
    failed: dict[str, None] = {}
    for raw in lines:
        line = _ESCAPES.sub("", raw)
        log.write(line)
        log.flush()
        if (started := _STARTED.search(line)) is not None:
            running, reason, began = started.group(1), "", clock.monotonic()
            out.write(f"  {running:<24} ")
            out.flush()
        elif (nothing := _NOTHING.search(line)) is not None:
            reason = f"{nothing[1].lower()}: {_LOGGER.sub('', nothing[2])}"
        elif (ended := _ENDED.search(line)) is not None and ended.group(1) == running:
            state = state_of(running) or "success"
            if state in ("failed", "up_for_retry"):
                failed[running] = None
            else:
                failed.pop(running, None)
            out.write(f"{clock.monotonic() - began:6.1f} s  {reason or _WORDS.get(state, state)}\n")
            out.flush()
            running = ""
    if running:
        failed[running] = None
        out.write("did not end\n")
    return tuple(failed)


def state_in(database: Path, dag_id: str) -> Callable[[str], str | None]:
    """Look a task's latest state up in Airflow's SQLite file; None where it can't be told."""

    query = (
        "SELECT state FROM task_instance WHERE dag_id = ? AND task_id = ? AND start_date IS NOT NULL "
        "ORDER BY start_date DESC LIMIT 1"
    )

    def state_of(task_id: str) -> str | None:
        try:
            with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=2.0)) as connection:
                row = connection.execute(query, (dag_id, task_id)).fetchone()
        except sqlite3.Error:
            return None
        return str(row[0]) if row and row[0] is not None else None

    return state_of


def last_error(log: Path) -> str | None:
    """The last error that a job, or else Airflow, wrote to a log, at most 300 characters."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for pattern in _ERRORS:
        for line in reversed(lines):
            if (found := pattern.search(line)) is not None:
                return _LOGGER.sub("", found.group())[:300]
    return None
