"""What the triggers on tables share: look from time to time, in a thread."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import Any, ClassVar

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_pyhudi.hooks.lake import StorageAccess


class TableTrigger(BaseTrigger):
    """Fires once: with what :meth:`look` found, or with ``{"error": "..."}`` when it raised.

    :param hudi_conn_id: a connection of type ``hudi``, and
    :param storage_conn_id: one of a storage, by which the table's is reached; the triggerer asks for them itself.
    :param poke_interval: seconds between two looks.
    """

    arguments: ClassVar[tuple[str, ...]]
    """Names of the attributes that are the constructor's arguments."""

    def __init__(self, hudi_conn_id: str | None, storage_conn_id: str | None, poke_interval: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.access = StorageAccess(hudi_conn_id=hudi_conn_id, storage_conn_id=storage_conn_id)
        self.poke_interval = poke_interval

    @abstractmethod
    def look(self) -> dict[str, Any] | None:
        """The payload of the event, or None while there is no event."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The path of the class and the arguments that make an equal trigger."""
        names = (*self.arguments, "hudi_conn_id", "storage_conn_id", "poke_interval")
        return f"{type(self).__module__}.{type(self).__qualname__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while True:
            try:
                found = await asyncio.to_thread(self.look)
            except Exception as error:  # whatever it is, the task gets to know it and does not wait in vain
                yield TriggerEvent({"error": str(error)})  # type: ignore[no-untyped-call]
                return
            if found is not None:
                yield TriggerEvent(found)  # type: ignore[no-untyped-call]
                return
            await asyncio.sleep(self.poke_interval)
