"""Standard error under spark-submit, which runs a Python driver with its stderr merged into stdout (PythonRunner)."""

from __future__ import annotations

import os
import sys

_STARTED_BY_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"


def separate_stderr() -> None:
    """Give this process the stderr of the spark-submit that started it, so that stdout holds the result alone.

    Where the system has no /proc, or that stderr is a socket, both streams stay one.
    """
    if _STARTED_BY_SPARK_SUBMIT not in os.environ:
        return
    sys.stderr.flush()
    try:
        # appending, as the file may be one that spark-submit itself writes to
        descriptor = os.open(f"/proc/{os.getppid()}/fd/2", os.O_WRONLY | os.O_APPEND)
    except OSError:
        return
    os.dup2(descriptor, 2)
    os.close(descriptor)
