"""Processes that die, and tables as they leave them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import cloudpickle

from spark_jobs.core.files.markers import create_marker
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.storage.hdfs import clients
from spark_jobs.core.storage.objects import stores
from spark_jobs.core.table import HudiTable
from tests.support.forks import in_fork_of_server

ROOT = Path(__file__).parents[2]


def in_another_process(work: Callable[[], object]) -> int:
    """Run in a forked process that ends without cleaning up; its exit code: 0 done, 1 an error.

    Where this one has used a server, it is no copy of it (``tests/support/forks.py``).
    """
    if stores.in_use() or clients.in_use():
        return in_fork_of_server(work)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def in_new_process(work: Callable[[], object]) -> Iterator[subprocess.Popen[bytes]]:
    """One that begins anew, and ends without cleaning up; it prints a line when the work begins."""
    code = "import os, pickle, sys; work = pickle.load(open(sys.argv[1], 'rb')); print(flush=True); work(); os._exit(0)"
    with tempfile.NamedTemporaryFile() as file:
        file.write(cloudpickle.dumps(work))
        file.flush()
        command = [sys.executable, "-c", code, file.name]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=ROOT) as process:
            try:
                yield process
            finally:
                process.kill()


def forget_newest(table: HudiTable) -> None:
    """As if the newest write had died before it was completed: its files are there, and its markers."""
    timeline, base_path = table.timeline, table.base_path
    newest = timeline.completed_commits()[-1]
    for stat in timeline.commit_metadata(newest, table.clock).write_stats:
        name = stat.path.rpartition("/")[2]
        create_marker(table.storage, base_path, newest.timestamp, stat.partition_path, name, MarkerType.CREATE)
    table.storage.delete(timeline.path(newest))
