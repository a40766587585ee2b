"""Where the records of a DataFrame go: by arrays where tasks may read the source themselves, else by joins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.placed_source import place_by_arrays
from spark_jobs.write.prepare import PreparedRows
from spark_jobs.write.tagged_frame import place_by_joins
from spark_jobs.write.workload import OpenWrite, Workload


@contextmanager
def workload_of(write: OpenWrite, rows: PreparedRows, direct: KeyedSource | None = None) -> Iterator[Workload]:
    """The records with their places, counted.

    :param direct: the source of ``rows`` where the tasks may read it themselves.
    """
    work = None
    if direct is not None:
        with write.progress.phase("tag"):
            work = place_by_arrays(write, direct)
    if work is not None:
        yield work
        return
    with place_by_joins(write, rows.keyed) as work:
        yield work
