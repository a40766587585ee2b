"""Where the records of a DataFrame go: by arrays, from the files of the source where tasks may read these themselves,
else from files that hold its rows; by joins where a payload merges records that leave their partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.placed_source import place_by_arrays
from spark_jobs.write.held_rows import held_rows
from spark_jobs.write.prepare import PreparedRows
from spark_jobs.write.tagged_frame import place_by_joins
from spark_jobs.write.workload import OpenWrite, Workload


@contextmanager
def workload_of(write: OpenWrite, rows: PreparedRows, direct: KeyedSource | None = None) -> Iterator[Workload]:
    """The records with their places, counted.

    :param direct: the source of ``rows`` where the tasks may read it themselves.
    """
    with ExitStack() as held:
        with write.progress.phase("tag"):
            source = direct or held.enter_context(held_rows(write, rows.keyed))
            work = place_by_arrays(write, source)
        if work is not None:
            yield work
            return
    with place_by_joins(write, rows.keyed) as work:
        yield work
