"""Indexing as its job runs it."""

from __future__ import annotations

from spark_jobs.options.indexing import IndexingMode, IndexingOptions
from spark_jobs.options.result import JobResult
from spark_jobs.services.indexing.job import run_indexing
from tests.faults import local_table as local
from tests.support.folder import Where, lake_of
from tests.support.jobs import job_context


def run(
    path: Where,
    mode: IndexingMode = IndexingMode.SCHEDULE_AND_EXECUTE,
    types: tuple[str, ...] = ("RECORD_INDEX",),
    **more: object,
) -> JobResult:
    given = IndexingOptions(
        base_path=str(path), mode=mode, index_types=types, hoodie_conf=tuple(local.AT_ONCE.items()), **more
    )
    return run_indexing(given, job_context(lake=lake_of(path)))
