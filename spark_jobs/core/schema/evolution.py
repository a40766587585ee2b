"""How files of other versions of a schema are read as the wanted one, by ids (Hudi: InternalSchemaMerger)."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.schema.conform import Origin, Origins
from spark_jobs.core.schema.internal import InternalSchema, InternalType, RecordType, children

DIGITS = 17
"""Of an instant with milliseconds; a version is an instant as a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaEvolution:
    """All versions of a table's schema, oldest first, and the one that a query wants. Pickles by value."""

    versions: tuple[InternalSchema, ...]
    wanted: InternalSchema

    def origins(self, instant: str) -> Origins:
        """Where the wanted columns are in files that the write ``instant`` made; empty where nothing changed.

        A column that the file's version does not have by its id is nowhere in it, even if one of its name is.
        """
        stored = self.version_at(instant)
        return (
            {}
            if stored is None or stored.record == self.wanted.record
            else origins_between(self.wanted.record, stored.record)
        )

    def version_at(self, instant: str) -> InternalSchema | None:
        """The newest version that is not younger than a write."""
        if not instant.isdigit():
            return None
        number = int(instant[:DIGITS].ljust(DIGITS, "0"))
        older = [one for one in self.versions if one.version <= number]
        return older[-1] if older else None


def schema_version(instant: str) -> int:
    """The version that a write gives to the schema that it makes."""
    return int(instant)


def origins_between(wanted: InternalType, stored: InternalType) -> Origins:
    """Where the columns of one type are in another, by their ids; only those that are not found by name."""
    if type(wanted) is not type(stored) or isinstance(wanted, str):
        return {}
    by_id = {column.id: column for column in children(stored)}
    by_name = {column.name: column for column in children(stored)}
    found: dict[str, Origin] = {}
    for column in children(wanted):
        # a list's element and a map's value are what they are, whatever their ids
        held = by_id.get(column.id) if isinstance(wanted, RecordType) else by_name[column.name]
        if held is None:
            found[column.name] = Origin(None)
            continue
        inner = origins_between(column.type, held.type)
        if inner or held.name != column.name:
            found[column.name] = Origin(held.name, inner)
    return found
