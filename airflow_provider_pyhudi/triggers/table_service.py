"""Wait without a worker until a table service is due."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow_provider_pyhudi.hooks.hudi import conf_of, due_plan
from airflow_provider_pyhudi.triggers.base import TableTrigger


class HudiTableServiceTrigger(TableTrigger):
    """Fires when a dry run of ``service`` has a plan; the event is that plan's result, or ``{"error": "..."}``.

    :param hoodie_conf: of the task; that of the connection is asked for here, as it may have secrets.
    """

    arguments: ClassVar[tuple[str, ...]] = ("base_path", "service", "hoodie_conf")

    def __init__(
        self,
        base_path: str,
        service: str,
        hoodie_conf: dict[str, str] | None = None,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        poke_interval: float = 60.0,
    ) -> None:
        super().__init__(hudi_conn_id, storage_conn_id, poke_interval)
        self.base_path = base_path
        self.service = service
        self.hoodie_conf = hoodie_conf

    def look(self) -> dict[str, Any] | None:
        conf = conf_of(self.hudi_conn_id, self.hoodie_conf or {})
        return due_plan(self.base_path, self.service, conf, self.access.lake())
