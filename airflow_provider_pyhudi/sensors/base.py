"""What the sensors on tables share: a look in the worker, or in the triggerer."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, BaseSensorOperator, Context, conf

from airflow_provider_pyhudi.hooks.hudi import HudiHook
from airflow_provider_pyhudi.hooks.lake import StorageAccess
from airflow_provider_pyhudi.triggers.base import TableTrigger


class HudiTableSensor(BaseSensorOperator):
    """Wait for something on a table that can be seen without Spark.

    :param base_path: base path of the table.
    :param hudi_conn_id: a connection of type ``hudi`` whose base path a relative ``base_path`` is joined to.
    :param storage_conn_id: a connection by which the storage of the table is reached, in the place of the one that
        ``hudi_conn_id`` has.
    :param deferrable: wait in the triggerer instead of a worker.
    """

    ui_color = "#d5ecf7"

    def __init__(
        self,
        *,
        base_path: str,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.deferrable = deferrable
        self._access: StorageAccess | None = None

    @abstractmethod
    def trigger(self) -> TableTrigger:
        """What waits in the triggerer, with all templates rendered."""

    @abstractmethod
    def value(self, event: dict[str, Any]) -> Any:
        """The sensor's result of the trigger's event."""

    def execute(self, context: Context) -> Any:
        if not self.deferrable:
            return super().execute(context)
        first = self.poke(context)
        if not isinstance(first, bool) and first.is_done:
            return first.xcom_value
        return self.defer(
            timeout=datetime.timedelta(seconds=self.timeout), trigger=self.trigger(), method_name="execute_complete"
        )

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """The value of the trigger's event.

        :raises AirflowException: the table could not be read.
        """
        if "error" in event:
            raise AirflowException(event["error"])
        return self.value(event)

    @property
    def access(self) -> StorageAccess:
        """By which the storage of the table is reached."""
        if self._access is None:
            self._access = StorageAccess(hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)
        return self._access

    @property
    def path(self) -> str:
        """Base path of the table, joined to the connection's."""
        return HudiHook(self.hudi_conn_id).base_path_of(self.base_path) if self.hudi_conn_id else self.base_path
