"""A process that spark-submit started, and its standard error, which spark-submit merges into stdout of a Python driver
(PythonRunner).
"""

from __future__ import annotations

import os
import sys

_STARTED_BY_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"


def started_by_spark_submit() -> bool:
    """Whether spark-submit started this process, and the Java beside it."""
    return _STARTED_BY_SPARK_SUBMIT in os.environ


def separate_stderr() -> None:
    """Give this process the stderr of the spark-submit that started it, so that stdout holds the result alone.

    Where the system has no /proc, or that stderr is a socket, both streams stay one.
    """
    if not started_by_spark_submit():
        return
    sys.stderr.flush()
    try:
        # appending, as the file may be one that spark-submit itself writes to
        descriptor = os.open(f"/proc/{os.getppid()}/fd/2", os.O_WRONLY | os.O_APPEND)
    except OSError:
        return
    os.dup2(descriptor, 2)
    os.close(descriptor)
