"""Archival of few commits, and what it waits for."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.options import ArchiveOptions, CleanOptions, JobResult
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.metadata import maintain_metadata_table
from tests.support.folder import Where, as_folder, lake_of
from tests.support.jobs import job_context

KEEP = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.metadata.compact.max.delta.commits": "1",
}


def archive(path: Where, options: dict[str, str] | None = None, **more: Any) -> JobResult:
    return run_archival(
        ArchiveOptions(base_path=str(path), hoodie_conf={**KEEP, **(options or {})}, **more),
        job_context(lake=lake_of(path)),
    )


def clean(path: Where, **options: str) -> JobResult:
    asked = CleanOptions(base_path=str(path), hoodie_conf={**KEEP, **options})
    return run_cleaning(asked, job_context(lake=lake_of(path)))


def compact_metadata(path: Where) -> None:
    maintain_metadata_table(as_folder(path).table().transaction_settings(KEEP), KEEP, pytest.fail)


def active(path: Where) -> list[str]:
    return [one.timestamp for one in as_folder(path).table().timeline.completed_commits()]
