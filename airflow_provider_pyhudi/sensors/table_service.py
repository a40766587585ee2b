"""Wait until a table service has something to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import Context, PokeReturnValue

from airflow_provider_pyhudi.hooks.hudi import conf_of, due_plan
from airflow_provider_pyhudi.sensors.base import HudiTableSensor
from airflow_provider_pyhudi.triggers.table_service import HudiTableServiceTrigger


class HudiTableServiceSensor(HudiTableSensor):
    """Wait until compaction, clustering or cleaning is due by the job's own rules. No Spark is needed.

    The sensor plans the service as ``--dry-run`` does and changes nothing. Its result is that plan's; the reason why a
    service is not due yet is in the task's log.

    :param base_path: base path of the table.
    :param service: ``compaction``, ``clustering`` or ``clean``.
    :param hoodie_conf: what decides when it is due, such as ``hoodie.compact.inline.max.delta.commits``; the same as
        the service's task has.
    :param hudi_conn_id: a connection of type ``hudi``: a relative ``base_path`` is joined to its own, and its
        ``hoodie_conf`` holds where the task gives no value of its own.
    :param storage_conn_id: a connection by which the storage of the table is reached, in the place of the one that
        ``hudi_conn_id`` has.
    :param deferrable: wait in the triggerer instead of a worker.
    :raises ValueError: another service.
    """

    template_fields: Sequence[str] = ("base_path", "hoodie_conf")

    def __init__(self, *, service: str, hoodie_conf: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        from spark_jobs.options.registry import SENSED

        if service not in SENSED:
            raise ValueError(f"service={service!r} is none of {', '.join(SENSED)}")
        self.service = service
        self.hoodie_conf = hoodie_conf

    def poke(self, context: Context) -> PokeReturnValue:
        conf = conf_of(self.hudi_conn_id, self._own_conf)
        plan = due_plan(self.path, self.service, conf, self.access.lake())
        return PokeReturnValue(plan is not None, plan)

    def trigger(self) -> HudiTableServiceTrigger:
        return HudiTableServiceTrigger(
            base_path=self.path,
            service=self.service,
            hoodie_conf=self._own_conf,
            hudi_conn_id=self.hudi_conn_id,
            storage_conn_id=self.storage_conn_id,
            poke_interval=self.poke_interval,
        )

    def value(self, event: dict[str, Any]) -> dict[str, Any]:
        return event

    @property
    def _own_conf(self) -> dict[str, str]:
        return {key: str(value) for key, value in (self.hoodie_conf or {}).items()}
