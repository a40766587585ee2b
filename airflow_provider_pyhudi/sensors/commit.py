"""Wait until a table has new commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.providers.common.compat.sdk import Context, PokeReturnValue

from airflow_provider_pyhudi.hooks.hudi import completed_commits, known_actions
from airflow_provider_pyhudi.operators.base import given_instant
from airflow_provider_pyhudi.sensors.base import HudiTableSensor
from airflow_provider_pyhudi.triggers.commit import HudiCommitTrigger


class HudiCommitSensor(HudiTableSensor):
    """Wait for completed writes on a table; a table that is not there yet has none. No Spark is needed.

    Returns ``{"instant": the newest, "instants": [all of them, oldest first]}``.

    :param base_path: base path of the table.
    :param after_instant: only writes after this instant count (exclusive), such as the instant that the last run saw;
        ``2026-01-31`` and ``2026-01-31 12:30:00`` are understood too.
    :param min_commits: how many of them there must be.
    :param actions: which kinds count: any of ``commit``, ``deltacommit``, ``replacecommit``; all without it.
    :param hudi_conn_id: a connection of type ``hudi`` whose base path a relative ``base_path`` is joined to.
    :param storage_conn_id: a connection by which the storage of the table is reached, in the place of the one that
        ``hudi_conn_id`` has.
    :param deferrable: wait in the triggerer instead of a worker.
    :raises ValueError: another action.
    """

    template_fields: Sequence[str] = ("base_path", "after_instant", "min_commits", "actions")

    def __init__(
        self,
        *,
        after_instant: str | None = None,
        min_commits: int | str = 1,
        actions: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.after_instant = after_instant
        self.min_commits = min_commits
        self.actions = actions
        if actions is not None:
            known_actions(actions)

    def poke(self, context: Context) -> PokeReturnValue:
        after, actions = given_instant(self.after_instant), known_actions(self.actions)
        found = completed_commits(self.path, after, actions, self.access.lake())
        self.log.info("%s has %s new commits of %s", self.path, len(found), self.min_commits)
        done = len(found) >= int(self.min_commits)
        return PokeReturnValue(done, self.value({"instants": found}) if done else None)

    def trigger(self) -> HudiCommitTrigger:
        return HudiCommitTrigger(
            base_path=self.path,
            after_instant=given_instant(self.after_instant),
            min_commits=int(self.min_commits),
            actions=known_actions(self.actions),
            hudi_conn_id=self.hudi_conn_id,
            storage_conn_id=self.storage_conn_id,
            poke_interval=self.poke_interval,
        )

    def value(self, event: dict[str, Any]) -> dict[str, Any]:
        found = event["instants"]
        return {"instant": found[-1] if found else None, "instants": found}
