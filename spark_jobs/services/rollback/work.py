"""One write that is to be undone, with all that it takes, for a rollback or as a part of a restore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.format.instant import Instant
from spark_jobs.core.storage import RelativePath, join
from spark_jobs.core.timeline.plans.rollback import RollbackRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackWork:
    """One write and what undoing it takes; ``sizes`` are bytes by relative path of all files that are named.

    ``rollback`` is the instant of a rollback that was begun: of its files those count that are there still.
    """

    target: Instant
    keep_plan: bool
    requests: tuple[RollbackRequest, ...]
    sizes: Mapping[str, int]
    rollback: str = ""

    @property
    def deletions(self) -> list[RelativePath]:
        named = sorted(join(one.partition, name) for one in self.requests for name in one.delete)
        return [path for path in named if path in self.sizes] if self.rollback else named

    @property
    def bytes(self) -> int:
        """Of the files that are deleted."""
        return sum(self.sizes.get(path, 0) for path in self.deletions)

    def to_json(self) -> dict[str, Any]:
        """For a person: the exact deletions with their bytes, and the log files whose blocks are taken back."""
        return {
            "instant": self.target.timestamp,
            "action": self.target.action.value,
            "state": self.target.state.value,
            "back_to_requested": self.keep_plan,
            "deletions": {path: self.sizes.get(path, 0) for path in self.deletions},
            "cancelled_logs": sorted(join(one.partition, name) for one in self.requests for name in one.cancel),
        }
