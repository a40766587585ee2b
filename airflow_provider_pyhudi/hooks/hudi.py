"""The connection type ``hudi``: where tables are, how jobs are configured, and a look at a table without Spark."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.providers.common.compat.sdk import BaseHook

from airflow_provider_pyhudi.hooks.lake import mask, of_hudi_connection, own_lake
from airflow_provider_pyhudi.hooks.storage import StorageConnectionError

if TYPE_CHECKING:
    from spark_jobs.core.lake import Lake
    from spark_jobs.core.table import HudiTable

WRITES = ("commit", "deltacommit", "replacecommit")

_log = logging.getLogger(__name__)


def known_actions(actions: str | Collection[str] | None) -> list[str] | None:
    """Actions as a list; one alone may stand without it, and a template may have made the list's text.

    :raises ValueError: none of ``commit``, ``deltacommit`` and ``replacecommit``.
    """
    if not actions or (isinstance(actions, str) and "{{" in actions):
        return None
    found = re.findall(r"[^\s,'\"\[\]()]+", actions) if isinstance(actions, str) else list(actions)
    for action in found:
        if action not in WRITES:
            raise ValueError(f"actions={action!r} is none of {', '.join(WRITES)}")
    return found


def completed_commits(
    base_path: str, after_instant: str | None, actions: Collection[str] | None, lake: Lake
) -> list[str]:
    """Instants of the completed writes after ``after_instant`` (exclusive), oldest first; none while there is no table.

    :param actions: only those of ``commit``, ``deltacommit`` and ``replacecommit``; all without it.
    :raises ConfigError: ``after_instant`` is no instant.
    :raises StorageError: the table is there but can't be read.
    """
    from spark_jobs.core.errors import TableNotFoundError
    from spark_jobs.core.format.instant_time import query_instant
    from spark_jobs.core.table import HudiTable

    after = query_instant(after_instant) if after_instant else ""
    try:
        commits = HudiTable.open(base_path, lake=lake).timeline.completed_commits()
    except TableNotFoundError:
        return []
    return [
        commit.timestamp for commit in commits if commit.follows(after) and (not actions or commit.action in actions)
    ]


def due_plan(base_path: str, service: str, hoodie_conf: Mapping[str, str], lake: Lake) -> dict[str, Any] | None:
    """The plan that a dry run of the service gives now, or None where it gives a reason for doing nothing.

    A plan that stands on the timeline and was not executed yet counts too. A table that is not there has nothing due.

    :returns: the job's result as a dictionary, its state ``DRY_RUN``.
    :raises HudiError: the table can't be read, or the service has nothing to do with its type.
    """
    from spark_jobs.core.errors import TableNotFoundError
    from spark_jobs.engine.context import JobContext
    from spark_jobs.engine.progress import Progress
    from spark_jobs.options import JobState
    from spark_jobs.options.registry import SENSED

    job, conf = SENSED[service], tuple(hoodie_conf.items())
    options = job.options(base_path=base_path, hoodie_conf=conf, dry_run=True, **job.planning)
    try:
        result = job.run(options, JobContext.of_process(lake, Progress.silent(service)))
    except TableNotFoundError:
        _log.info("%s of %s is not due: there is no table yet", service, base_path)
        return None
    if result.state is not JobState.DRY_RUN:
        _log.info("%s of %s is not due: %s", service, base_path, result.reason)
        return None
    return result.to_dict()


def conf_of(hudi_conn_id: str | None, own: Mapping[str, str]) -> dict[str, str]:
    """The ``hoodie.*`` values of a task over those of its connection, whose secrets no log shows from now on."""
    found = {**(HudiHook(hudi_conn_id).hoodie_conf if hudi_conn_id else {}), **own}
    mask(found)
    return found


class HudiHook(BaseHook):
    """Settings of a connection of type ``hudi``, all in its extra: ``base_path``, ``spark_conn_id``, ``hoodie_conf``,
    ``storage_conn_id``, ``storage_options``.

    :param hudi_conn_id: the connection.
    """

    conn_name_attr = "hudi_conn_id"
    default_conn_name = "hudi_default"
    conn_type = "hudi"
    hook_name = "Apache Hudi"

    def __init__(self, hudi_conn_id: str = default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.hudi_conn_id = hudi_conn_id

    def get_conn(self) -> dict[str, Any]:
        """The extra of the connection."""
        return dict(self.get_connection(self.hudi_conn_id).extra_dejson)

    @property
    def spark_conn_id(self) -> str | None:
        return self.get_conn().get("spark_conn_id") or None

    @property
    def hoodie_conf(self) -> dict[str, str]:
        return {str(key): str(value) for key, value in (self.get_conn().get("hoodie_conf") or {}).items()}

    def lake(self) -> Lake:
        """The lake that is reached by the storage options of the connection.

        :raises StorageConnectionError: its storage connection is not there, or asks for what is not served.
        :raises ConfigError: an option that nothing reads.
        """
        options = of_hudi_connection(self.hudi_conn_id)
        mask(options)
        return own_lake(options)

    def base_path_of(self, path: str) -> str:
        """An absolute path or URL as it is; a relative one joined to the connection's ``base_path``."""
        root = str(self.get_conn().get("base_path") or "")
        if not root or path.startswith("/") or urlsplit(path).scheme:
            return path
        return f"{root.rstrip('/')}/{path}" if path else root

    def open_table(self, path: str = "") -> HudiTable:
        """Open a table without Spark.

        :raises StorageError: there is no table, or it can't be read.
        :raises StorageConnectionError: the storage connection is not there, or asks for what is not served.
        """
        from spark_jobs.core.table import HudiTable

        return HudiTable.open(self.base_path_of(path), lake=self.lake())

    def test_connection(self) -> tuple[bool, str]:
        """Whether the base path can be listed."""
        from spark_jobs.core.errors import HudiError

        try:
            place = self.lake().place(self.base_path_of(""))
            found = place.storage.list(place.path)
        except (HudiError, StorageConnectionError) as error:
            return False, str(error)
        return True, f"{place.path} has {len(found)} entries"
