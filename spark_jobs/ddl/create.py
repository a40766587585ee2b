"""An empty table from the text of a statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.errors import AlreadyExistsError, ConfigError, TableNotFoundError
from spark_jobs.core.storage import locate
from spark_jobs.core.table import HudiTable
from spark_jobs.ddl.properties import table_properties, without_effect
from spark_jobs.ddl.statement import parse_create_table


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """A table to make, with all its properties but the checksum; ``existing`` is the one that stands there already."""

    base_path: str
    properties: Mapping[str, str]
    existing: HudiTable | None

    def make(self, clock: Clock = SYSTEM_CLOCK) -> HudiTable:
        """Make it, unless it is there."""
        return self.existing or HudiTable.initialise(self.base_path, self.properties, clock)


def create_table_from_ddl(
    ddl: str, path: str | None = None, *, defaults: Mapping[str, str] | None = None, clock: Clock = SYSTEM_CLOCK
) -> HudiTable:
    """Carry out ``create table ... using hudi``; with IF NOT EXISTS a table that stands there is given as it is.

    :param path: the base path where the statement has no LOCATION.
    :param defaults: ``hoodie.*`` values that hold where the statement says nothing.
    :raises ConfigError: the statement can't be carried out.
    :raises AlreadyExistsError: a table stands there, and the statement has no IF NOT EXISTS.
    """
    return plan_ddl(ddl, path, defaults=defaults, clock=clock).make(clock)


def plan_ddl(
    ddl: str,
    path: str | None = None,
    *,
    defaults: Mapping[str, str] | None = None,
    if_not_exists: bool = False,
    note: Callable[[str], None] | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> PlannedTable:
    """As :func:`create_table_from_ddl`, but nothing is made; ``if_not_exists`` as if the statement said so.

    :param note: hears of options that have no effect.
    """
    statement = parse_create_table(ddl)
    if note is not None:
        for line in without_effect(statement.options):
            note(f"warning: {line}")
    if not path and not statement.location:
        raise ConfigError(
            f"the statement for table {statement.name} has no LOCATION", todo="add one, or give --base-path"
        )
    if path and statement.location and locate(path)[1] != locate(statement.location)[1]:
        raise ConfigError(f"--base-path {path} contradicts LOCATION '{statement.location}'", todo="give one of them")
    base_path = path or statement.location
    return plan_table(base_path, table_properties(statement, defaults), statement.if_not_exists or if_not_exists, clock)


def plan_table(base_path: str, properties: Mapping[str, str], if_not_exists: bool, clock: Clock) -> PlannedTable:
    """
    :raises ConfigError: the base path is a file.
    :raises AlreadyExistsError: a table stands there, which ``if_not_exists`` does not allow.
    """
    storage, path = locate(base_path)
    status = storage.stat(path)
    if status is not None and not status.is_directory:
        raise ConfigError(f"{base_path} is a file", todo="give the folder of the new table", path=base_path)
    try:
        existing = HudiTable.open(base_path, clock)
    except TableNotFoundError:
        return PlannedTable(base_path=path, properties=properties, existing=None)
    if not if_not_exists:
        raise AlreadyExistsError(
            f"the table {existing.config.name} stands at {base_path} already",
            todo="write IF NOT EXISTS (--if-not-exists), or choose another location",
            path=base_path,
        )
    return PlannedTable(base_path=path, properties=properties, existing=existing)
