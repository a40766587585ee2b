"""Options of ``clean.py``; the policy and what it retains stand in ``hoodie.clean*`` properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spark_jobs.options.planned import PlannedOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanOptions(PlannedOptions):
    """Delete file slices that no retained commit needs (``HoodieCleaner``)."""

    job: ClassVar[str] = "clean"
