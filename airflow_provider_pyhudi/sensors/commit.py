"""Wait until a table has new commits."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from airflow.configuration import conf
from airflow.sdk import BaseSensorOperator, Context, PokeReturnValue
from airflow.sdk.exceptions import AirflowException

from airflow_provider_pyhudi.hooks.hudi import HudiHook, completed_commits
from airflow_provider_pyhudi.operators.base import given_instant
from airflow_provider_pyhudi.triggers.commit import HudiCommitTrigger


class HudiCommitSensor(BaseSensorOperator):
    """Wait for completed writes on a table; a table that is not there yet has none. No Spark is needed.

    Returns ``{"instant": the newest, "instants": [all of them, oldest first]}``.

    :param base_path: base path of the table.
    :param after_instant: only writes after this instant count (exclusive), such as the instant that the last run saw.
    :param min_commits: how many of them there must be.
    :param actions: which kinds count: any of ``commit``, ``deltacommit``, ``replacecommit``; all without it.
    :param hudi_conn_id: a connection of type ``hudi`` whose base path a relative ``base_path`` is joined to.
    :param deferrable: wait in the triggerer instead of a worker.
    """

    template_fields: Sequence[str] = ("base_path", "after_instant", "min_commits", "actions")
    ui_color = "#d5ecf7"

    def __init__(
        self,
        *,
        base_path: str,
        after_instant: str | None = None,
        min_commits: int | str = 1,
        actions: Sequence[str] | None = None,
        hudi_conn_id: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.base_path = base_path
        self.after_instant = after_instant
        self.min_commits = min_commits
        self.actions = actions
        self.hudi_conn_id = hudi_conn_id
        self.deferrable = deferrable

    def poke(self, context: Context) -> PokeReturnValue:
        found = completed_commits(self._path, given_instant(self.after_instant), self.actions)
        self.log.info("%s has %s new commits of %s", self._path, len(found), self.min_commits)
        done = len(found) >= int(self.min_commits)
        return PokeReturnValue(done, _value(found) if done else None)

    def execute(self, context: Context) -> Any:
        if not self.deferrable:
            return super().execute(context)
        first = self.poke(context)
        if first.is_done:
            return first.xcom_value
        return self.defer(
            timeout=datetime.timedelta(seconds=self.timeout),
            trigger=HudiCommitTrigger(
                base_path=self._path,
                after_instant=given_instant(self.after_instant),
                min_commits=int(self.min_commits),
                actions=list(self.actions) if self.actions else None,
                poke_interval=self.poke_interval,
            ),
            method_name="execute_complete",
        )

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """The value of the trigger's event.

        :raises AirflowException: the table could not be read.
        """
        if "error" in event:
            raise AirflowException(event["error"])
        return _value(event["instants"])

    @property
    def _path(self) -> str:
        return HudiHook(self.hudi_conn_id).base_path_of(self.base_path) if self.hudi_conn_id else self.base_path


def _value(found: list[str]) -> dict[str, Any]:
    return {"instant": found[-1] if found else None, "instants": found}
