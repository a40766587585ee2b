"""Wait for commits without a worker."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow_provider_pyhudi.hooks.hudi import completed_commits
from airflow_provider_pyhudi.triggers.base import TableTrigger


class HudiCommitTrigger(TableTrigger):
    """Fires when ``min_commits`` writes after ``after_instant`` (exclusive) are completed.

    The event is ``{"instants": [...]}``, oldest first, or ``{"error": "..."}``.
    """

    arguments: ClassVar[tuple[str, ...]] = ("base_path", "after_instant", "min_commits", "actions")

    def __init__(
        self,
        base_path: str,
        after_instant: str | None = None,
        min_commits: int = 1,
        actions: list[str] | None = None,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        poke_interval: float = 60.0,
    ) -> None:
        super().__init__(hudi_conn_id, storage_conn_id, poke_interval)
        self.base_path = base_path
        self.after_instant = after_instant
        self.min_commits = min_commits
        self.actions = actions

    def look(self) -> dict[str, Any] | None:
        found = completed_commits(self.base_path, self.after_instant, self.actions, self.access.lake())
        return {"instants": found} if len(found) >= self.min_commits else None
