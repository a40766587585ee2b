"""One line and an exit code for whatever ends a job.

The texts of Spark's exceptions are cut from real ones of PySpark 4.2; tests/provider submits a job that raises them.
"""

import pytest
from pyspark.errors import PySparkException

from spark_jobs.core.errors import (
    BadRecordError,
    ConfigError,
    HudiError,
    LockNotAcquiredError,
    TableNotFoundError,
    WriteConflictError,
)
from spark_jobs.engine.failure import failure_of
from spark_jobs.options import OptionsError

pytestmark = pytest.mark.unit

PYTHON_WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/opt/spark_jobs/write/tasks.py", line 12, in write
    raise WriteConflictError("file group f-1 was changed by 20240101000000000", todo="run it again")
spark_jobs.core.errors.WriteConflictError: file group f-1 was changed by 20240101000000000: run it again

"""
WORKERS_LINE = PYTHON_WORKER.strip().splitlines()[-1]
PY4J = """An error occurred while calling o55.save.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2895)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "worker.py", line 2, in main
spark_jobs.core.errors.BadRecordError: column `id` has 3 nulls

\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:572)
"""
FULL_DISK = """An error occurred while calling o55.save.
: org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.sql.X.write(X.scala:1)
Caused by: org.apache.spark.SparkException: Writing failed.
\tat org.apache.spark.sql.Y.write(Y.scala:1)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 8 more
"""


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (HudiError("it is so", todo="do this"), "it is so: do this", 1),
        (ConfigError("bad"), "bad", 2),
        (OptionsError("--x is no option"), "--x is no option", 2),
        (WriteConflictError("changed"), "changed", 3),
        (LockNotAcquiredError("held"), "held", 4),
        (TableNotFoundError("none"), "none", 5),
        (BadRecordError("two\nlines"), "two lines", 1),
        (KeyError("x"), "KeyError: 'x'", 1),
        (
            ModuleNotFoundError("No module named 'pyspark.sql'", name="pyspark.sql"),
            "pyspark is not installed: pip install 'pyhudi[spark]'",
            2,
        ),
        (ModuleNotFoundError("No module named 'y'", name="y"), "ModuleNotFoundError: No module named 'y'", 1),
        (RuntimeError(), "RuntimeError", 1),
        (RuntimeError(PYTHON_WORKER), "file group f-1 was changed by 20240101000000000: run it again", 3),
        (
            RuntimeError(
                "Caused by: java.lang.RuntimeException: spark_jobs.core.errors.BadRecordError: no key: fill it\n"
            ),
            "no key: fill it",
            1,
        ),
        (
            PySparkException(PYTHON_WORKER.replace(WORKERS_LINE, "ModuleNotFoundError: No module named 'isal.igzip'")),
            "the Python of an executor has no isal: install it there, or name another Python by PYSPARK_PYTHON "
            "(docs/clusters.md)",
            2,
        ),
        (RuntimeError(PY4J), "column `id` has 3 nulls", 1),
        (RuntimeError(FULL_DISK), "IOException: No space left on device", 1),
        (
            RuntimeError("An error occurred while calling o1.x.\n: java.lang.IllegalStateException: no\n\tat a.b(c:1)"),
            "IllegalStateException: no",
            1,
        ),
        (
            RuntimeError("x\nCaused by: java.lang.OutOfMemoryError: Java heap space\n\tat y"),
            "Java ran out of memory (Java heap space): give the driver or executors more",
            1,
        ),
        (
            RuntimeError(
                PYTHON_WORKER.replace("spark_jobs.core.errors.WriteConflictError", "pyarrow.lib.ArrowInvalid")
            ),
            None,
            1,
        ),
    ],
)
def test_an_error_is_reduced_to_its_root(error: Exception, message: str | None, code: int) -> None:
    failure = failure_of(error)
    expected = message or "pyarrow.lib.ArrowInvalid: file group f-1 was changed by 20240101000000000: run it again"
    assert (failure.message, failure.exit_code) == (expected, code)
