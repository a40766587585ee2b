"""The lake that tasks, sensors and triggers open tables and files in, made by each process of Airflow's for itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseHook, mask_secret

from airflow_provider_pyhudi.hooks.storage import StorageConnectionError, options_of
from spark_jobs.options.secrets import can_be_hidden, secret_values

if TYPE_CHECKING:
    from spark_jobs.core.lake import Lake

_SECONDS_KEPT = 600.0
"""For so long options are not asked for again: sessions that a connection stands for end after 15 minutes at least."""


def own_lake(*options: Mapping[str, str]) -> Lake:
    """Not called while a DAG is parsed: it imports the table format.

    :param options: storage options, each over those before it, all over what the environment has.
    :raises ConfigError: one that nothing reads.
    """
    from spark_jobs.core.lake import Lake

    lake = Lake()
    for one in options:
        lake = lake.reached_by(one)
    return lake


@dataclass(slots=True, kw_only=True)
class StorageAccess:
    """By which options the storage of a task's tables is reached. No value of them is kept in a DAG, XCom or trigger.

    :param hudi_conn_id: a connection of type ``hudi``, whose extra may have ``storage_conn_id`` and, over that,
        ``storage_options``.
    :param storage_conn_id: a connection of a storage, in the place of both.
    :param own: the task's own options, over all of these.
    :param settings: of Hadoop's connectors as spark-submit gets them (``spark.hadoop.fs.s3a...``), below all of these;
        others are passed over.
    """

    hudi_conn_id: str | None = None
    storage_conn_id: str | None = None
    own: Mapping[str, Any] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _found: dict[str, str] = field(default_factory=dict, repr=False, init=False)
    _found_at: float | None = field(default=None, init=False)

    def options(self) -> dict[str, str]:
        """Asks the connections, whose secrets are masked in logs from then on.

        :raises StorageConnectionError: one is not there, or asks for what is not served.
        """
        if not (self.hudi_conn_id or self.storage_conn_id or self.own):
            return {}
        from spark_jobs.core.clock import SYSTEM_CLOCK

        now = SYSTEM_CLOCK.monotonic()
        if self._found_at is None or now - self._found_at > _SECONDS_KEPT:
            self._found, self._found_at = self._asked(), now
            mask(self._found)
        return dict(self._found)

    def lake(self) -> Lake:
        """
        :raises StorageConnectionError: a connection is not there, or asks for what is not served.
        :raises ConfigError: an option that nothing reads.
        """
        return own_lake(self._of_hadoop(), self.options())

    def _asked(self) -> dict[str, str]:
        from spark_jobs.core.storage.objects.schemes import laid_over

        if self.storage_conn_id:
            found = options_of(self.storage_conn_id)
        else:
            found = of_hudi_connection(self.hudi_conn_id) if self.hudi_conn_id else {}
        return laid_over({str(name): str(value) for name, value in self.own.items()}, found)

    def _of_hadoop(self) -> dict[str, str]:
        if not self.settings:
            return {}
        from spark_jobs.core.storage.hdfs.names import is_of_hdfs
        from spark_jobs.core.storage.objects.schemes import is_hadoops

        return {name: str(value) for name, value in self.settings.items() if is_hadoops(name) or is_of_hdfs(name)}


def of_hudi_connection(hudi_conn_id: str) -> dict[str, str]:
    """The storage options of a connection of type ``hudi``.

    :raises StorageConnectionError: its storage connection is not there or asks for what is not served; its
        ``storage_options`` are no JSON object.
    """
    from spark_jobs.core.storage.objects.schemes import laid_over

    extra = BaseHook.get_connection(hudi_conn_id).extra_dejson
    own, storage_conn_id = extra.get("storage_options") or {}, extra.get("storage_conn_id")
    if not isinstance(own, Mapping):
        raise StorageConnectionError(f"storage_options of connection {hudi_conn_id} are no JSON object: give one")
    below = options_of(str(storage_conn_id)) if storage_conn_id else {}
    return laid_over({str(name): str(value) for name, value in own.items()}, below)


def mask(options: Mapping[str, str]) -> None:
    """Have Airflow show the secrets among these in no log; it leaves very short ones alone."""
    for value in filter(can_be_hidden, secret_values(options.items())):
        mask_secret(value)
