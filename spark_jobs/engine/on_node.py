"""A driver on a node of a cluster (``--deploy-mode cluster``): nobody sees its exit code or stderr, and YARN takes one
without a SparkContext for dead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from spark_jobs.core.errors import HudiError
from spark_jobs.engine.failure import Failure, failure_of
from spark_jobs.engine.output_file import OutputFile
from spark_jobs.engine.streams import started_by_spark_submit
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.failed_file import FailedFile
from spark_jobs.options.secrets import Hiding

_ON_YARN, _ON_KUBERNETES = "CONTAINER_ID", "KUBERNETES_SERVICE_HOST"
"""Variables of any process there, whatever it runs."""


@contextmanager
def application(job: str, *, debug: bool) -> Iterator[None]:
    """A SparkContext from the first to the last moment where YARN waits for one: else it ends the driver after 100 s,
    and counts its application as failed (Spark: ApplicationMaster.runDriver).
    """
    if not (_ON_YARN in os.environ and _is_on_node()):
        yield
        return
    from spark_jobs.engine.session import job_session

    with job_session(job, debug=debug):
        yield


@contextmanager
def telling(target: OutputFile | None, hiding: Hiding) -> Iterator[Callable[[Failure], None]]:
    """Write down why the job fails, be it raised or said to what this gives; for a driver on a node alone.

    :param target: of the result; without one nothing is written.
    :param hiding: the job's secrets.
    """

    def tell(failure: Failure) -> None:
        said = FailedFile(message=hiding.text(failure.message), exit_code=failure.exit_code)
        if target is not None and _is_on_node():
            with suppress(HudiError, OptionsError):  # it is on stderr all the same
                target.beside(FailedFile.beside).write(said.to_json().encode() + b"\n")

    try:
        yield tell
    except Exception as error:
        tell(failure_of(error))
        raise


def _is_on_node() -> bool:
    is_possible = _ON_YARN in os.environ or _ON_KUBERNETES in os.environ
    if not is_possible or not started_by_spark_submit():
        return False
    from pyspark import SparkContext

    get = SparkContext.getSystemProperty
    return get("spark.submit.deployMode") == "cluster" or get("spark.kubernetes.submitInDriver") == "true"
