"""What a write has to say that Python code calls: to a logger, as other libraries do."""

from __future__ import annotations

import io
import logging

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.engine.progress import Progress

_LOG = logging.getLogger("pyhudi")


class LoggedProgress(Progress):
    """Phases are timed and not shown; notes go to the logger ``pyhudi``, whose warnings Python writes to stderr where
    nobody configured it.
    """

    def __init__(self, job: str, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(job, stream=io.StringIO(), clock=clock)

    def note(self, text: str) -> None:
        _LOG.info("%s: %s", self._job, text)

    def warn(self, *texts: str) -> None:
        for text in texts:
            _LOG.warning("%s: %s", self._job, text)
