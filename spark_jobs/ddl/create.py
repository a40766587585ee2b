"""An empty table from the text of a statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spark_jobs.core.errors import AlreadyExistsError, ConfigError, TableNotFoundError
from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.ddl.properties import table_properties, without_effect
from spark_jobs.ddl.statement import parse_create_table


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """A table to make, with all its properties but the checksum; ``existing`` is the one that stands there already."""

    lake: Lake
    url: str
    properties: Mapping[str, str]
    existing: HudiTable | None

    @property
    def base_path(self) -> str:
        return self.lake.place(self.url).path

    def make(self) -> HudiTable:
        """Make it, unless it is there."""
        return self.existing or HudiTable.initialise(self.url, self.properties, lake=self.lake)


def create_table_from_ddl(
    ddl: str, path: str | None = None, *, defaults: Mapping[str, str] | None = None, lake: Lake = LAKE
) -> HudiTable:
    """Carry out ``create table ... using hudi``; with IF NOT EXISTS a table that stands there is given as it is.

    :param path: the base path where the statement has no LOCATION.
    :param defaults: ``hoodie.*`` values that hold where the statement says nothing.
    :raises ConfigError: the statement can't be carried out.
    :raises AlreadyExistsError: a table stands there, and the statement has no IF NOT EXISTS.
    """
    return plan_ddl(ddl, path, defaults=defaults, lake=lake).make()


def plan_ddl(
    ddl: str,
    path: str | None = None,
    *,
    defaults: Mapping[str, str] | None = None,
    if_not_exists: bool = False,
    warn: Callable[[str], None] | None = None,
    lake: Lake = LAKE,
) -> PlannedTable:
    """As :func:`create_table_from_ddl`, but nothing is made; ``if_not_exists`` as if the statement said so.

    :param warn: hears of options that have no effect.
    """
    statement = parse_create_table(ddl)
    if warn is not None:
        for line in without_effect(statement.options):
            warn(line)
    if not path and not statement.location:
        raise ConfigError(
            f"the statement for table {statement.name} has no LOCATION", todo="add one, or give --base-path"
        )
    if path and statement.location and lake.place(path).path != lake.place(statement.location).path:
        raise ConfigError(f"--base-path {path} contradicts LOCATION '{statement.location}'", todo="give one of them")
    base_path = path or statement.location
    return plan_table(base_path, table_properties(statement, defaults), statement.if_not_exists or if_not_exists, lake)


def plan_table(url: str, properties: Mapping[str, str], if_not_exists: bool, lake: Lake) -> PlannedTable:
    """
    :raises ConfigError: the base path is a file.
    :raises AlreadyExistsError: a table stands there, which ``if_not_exists`` does not allow.
    """
    place = lake.place(url)
    status = place.storage.stat(place.path)
    if status is not None and not status.is_directory:
        raise ConfigError(f"{url} is a file", todo="give the folder of the new table", path=url)
    try:
        existing = HudiTable.open(url, lake=lake)
    except TableNotFoundError:
        return PlannedTable(lake=lake, url=url, properties=properties, existing=None)
    if not if_not_exists:
        raise AlreadyExistsError(
            f"the table {existing.config.name} stands at {url} already",
            todo="write IF NOT EXISTS (--if-not-exists), or choose another location",
            path=url,
        )
    return PlannedTable(lake=lake, url=url, properties=properties, existing=existing)
