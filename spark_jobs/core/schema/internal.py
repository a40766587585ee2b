"""A schema whose columns have ids, so that they keep their identity when they are renamed, moved or dropped.

Source: ``org.apache.hudi.internal.schema.InternalSchema``, its ``Types`` and ``SerDeHelper``, which gives the JSON form
that commits (``latest_schema``) and the history in ``.hoodie/.schema`` have (docs/format.md, schema history).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.text import is_unicode

ELEMENT, KEY, VALUE = "element", "key", "value"


_NAMES = frozenset(
    ("boolean", "int", "long", "float", "double", "date", "time", "timestamp", "string", "uuid", "binary")
)
_PARAMETERS = re.compile(r"fixed\[\d{1,9}\]|decimal\(\d{1,4},\s*\d{1,4}\)")
_MOST_LEVELS = 100


InternalType: TypeAlias = "str | RecordType | ArrayType | MapType"
"""Types without parts are their names: ``int``, ``decimal(10, 2)``, ``fixed[16]``, ``timestamp`` ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A field of a record. ``id`` is unique in the schema and never given again."""

    id: int
    name: str
    optional: bool
    type: InternalType
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class RecordType:
    columns: tuple[Column, ...]

    def find(self, name: str) -> Column | None:
        """By name, letters of either case alike, as Hudi looks names up."""
        for column in self.columns:
            if column.name == name:
                return column
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayType:
    element_id: int
    optional: bool
    element: InternalType


@dataclass(frozen=True, slots=True, kw_only=True)
class MapType:
    """Keys are strings."""

    key_id: int
    value_id: int
    optional: bool
    value: InternalType


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalSchema:
    """``version`` is the instant that made it, as a number, 0 for what was there before the first change."""

    version: int
    max_column_id: int
    record: RecordType

    @staticmethod
    def of(record: RecordType, version: int = 0, at_least: int = -1) -> InternalSchema:
        """``at_least``: the greatest id ever given, where that is known to be beyond those in ``record``."""
        return InternalSchema(version=version, max_column_id=max([at_least, *_ids(record)]), record=record)

    def at(self, version: int) -> InternalSchema:
        return replace(self, version=version)

    def to_json(self) -> dict[str, Any]:
        head = {"max_column_id": self.max_column_id, "version_id": self.version}
        return {**head, **_type_to_json(self.record)}

    def to_text(self) -> str:
        return _compact(self.to_json())

    @staticmethod
    def parse(text: str, where: str) -> InternalSchema:
        """
        :raises CorruptTableError: no such JSON.
        """
        try:
            return _from_json(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise CorruptTableError(f"{where} holds no schema with ids ({error!r})", where=where) from error


def parse_history(text: str, where: str) -> tuple[InternalSchema, ...]:
    """All versions of a history file, oldest first.

    :raises CorruptTableError: no such JSON.
    """
    try:
        found = {one.version: one for one in map(_from_json, json.loads(text)["schemas"])}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptTableError(f"{where} holds no schema history ({error!r})", where=where) from error
    return tuple(found[version] for version in sorted(found))


def history_text(versions: tuple[InternalSchema, ...]) -> str:
    """A history file: the newest version first."""
    return _compact({"schemas": [one.to_json() for one in sorted(versions, key=lambda one: -one.version)]})


def children(kind: InternalType) -> tuple[Column, ...]:
    """The parts of a type as columns: a list's element and a map's value under these names."""
    if isinstance(kind, RecordType):
        return kind.columns
    if isinstance(kind, ArrayType):
        return (Column(id=kind.element_id, name=ELEMENT, optional=kind.optional, type=kind.element),)
    if isinstance(kind, MapType):
        return (Column(id=kind.value_id, name=VALUE, optional=kind.optional, type=kind.value),)
    return ()


def walk(kind: InternalType, prefix: str = "") -> Iterator[tuple[str, Column]]:
    """Every part below a type with its full name, parents before their parts."""
    for column in children(kind):
        full = f"{prefix}{column.name}"
        yield full, column
        yield from walk(column.type, f"{full}.")


def _ids(record: RecordType) -> Iterator[int]:
    for _, column in walk(record):
        yield column.id
        if isinstance(column.type, MapType):
            yield column.type.key_id


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _type_to_json(kind: InternalType) -> Any:
    if isinstance(kind, RecordType):
        return {"type": "record", "fields": [_column_to_json(column) for column in kind.columns]}
    if isinstance(kind, ArrayType):
        return {
            "type": "array",
            "element_id": kind.element_id,
            "element": _type_to_json(kind.element),
            "element_optional": kind.optional,
        }
    if isinstance(kind, MapType):
        return {
            "type": "map",
            "key_id": kind.key_id,
            "key": "string",
            "value_id": kind.value_id,
            "value": _type_to_json(kind.value),
            "value_optional": kind.optional,
        }
    return kind


def _column_to_json(column: Column) -> dict[str, Any]:
    found = {"id": column.id, "name": column.name, "optional": column.optional, "type": _type_to_json(column.type)}
    return found if column.doc is None else {**found, "doc": column.doc}


def _from_json(raw: Any) -> InternalSchema:
    record = _type_from_json(raw, 0)
    if not isinstance(record, RecordType):
        raise ValueError("its type is no record")
    return InternalSchema.of(record, int(raw.get("version_id", 0)), int(raw.get("max_column_id", -1)))


def _type_from_json(raw: Any, level: int) -> InternalType:
    if level > _MOST_LEVELS:
        raise ValueError(f"more than {_MOST_LEVELS} levels")
    if isinstance(raw, str):
        lowered = raw.lower()
        if lowered not in _NAMES and not _PARAMETERS.fullmatch(lowered):
            raise ValueError(f"no type {raw}")
        return lowered
    kind = raw["type"]
    if kind == "record":
        columns = [_column_from_json(one, level + 1) for one in raw["fields"]]
        return RecordType(tuple(columns))
    if kind == "array":
        element = _type_from_json(raw["element"], level + 1)
        return ArrayType(element_id=int(raw["element_id"]), optional=bool(raw["element_optional"]), element=element)
    if kind == "map":
        value = _type_from_json(raw["value"], level + 1)
        ids = int(raw["key_id"]), int(raw["value_id"])
        return MapType(key_id=ids[0], value_id=ids[1], optional=bool(raw["value_optional"]), value=value)
    raise ValueError(f"no type {kind}")


def _column_from_json(raw: Mapping[str, Any], level: int) -> Column:
    name = raw["name"]
    if not isinstance(name, str) or not is_unicode(name):
        raise ValueError(f"no name {name!r}")
    kind = _type_from_json(raw["type"], level)
    return Column(id=int(raw["id"]), name=name, optional=bool(raw["optional"]), type=kind, doc=raw.get("doc"))
