"""Wait for commits without a worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_pyhudi.hooks.hudi import completed_commits


class HudiCommitTrigger(BaseTrigger):
    """Fires once, when ``min_commits`` writes after ``after_instant`` (exclusive) are completed, or at an error.

    The event is ``{"instants": [...]}``, oldest first, or ``{"error": "..."}``. The table is read in a thread.
    """

    def __init__(
        self,
        base_path: str,
        after_instant: str | None = None,
        min_commits: int = 1,
        actions: list[str] | None = None,
        poke_interval: float = 60.0,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.base_path = base_path
        self.after_instant = after_instant
        self.min_commits = min_commits
        self.actions = actions
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The path of this class and the arguments that make an equal trigger."""
        names = ("base_path", "after_instant", "min_commits", "actions", "poke_interval")
        return f"{type(self).__module__}.{type(self).__qualname__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while True:
            try:
                found = await asyncio.to_thread(completed_commits, self.base_path, self.after_instant, self.actions)
            except Exception as error:  # whatever it is, the task gets to know it and does not wait in vain
                yield TriggerEvent({"error": str(error)})  # type: ignore[no-untyped-call]
                return
            if len(found) >= self.min_commits:
                yield TriggerEvent({"instants": found})  # type: ignore[no-untyped-call]
                return
            await asyncio.sleep(self.poke_interval)
