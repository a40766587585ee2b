"""The lake that tasks, sensors and triggers open tables and files in, made by each process of Airflow's for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spark_jobs.core.lake import Lake


def own_lake() -> Lake:
    """Not called while a DAG is parsed: it imports the table format."""
    from spark_jobs.core.lake import Lake

    return Lake()
