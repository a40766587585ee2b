"""What a job that writes has to say of its configuration before it begins."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.config.refused import refuse_unserved
from spark_jobs.core.locks.choose import lock_notes


def writer_warnings(properties: Mapping[str, str]) -> list[str]:
    """A line each.

    :raises ConfigError: as :func:`lock_notes` and :func:`refuse_unserved`.
    """
    refuse_unserved(properties)
    return [*lock_notes(properties), *unknown_key_warnings(properties)]
