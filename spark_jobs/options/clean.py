"""Options of ``clean.py``; the policy and what it retains stand in ``hoodie.clean*`` properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spark_jobs.options.base import JobOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanOptions(JobOptions):
    """Delete file slices that no retained commit needs (``HoodieCleaner``)."""

    job: ClassVar[str] = "clean"
