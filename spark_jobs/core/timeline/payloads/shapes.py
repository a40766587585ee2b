"""Plans and results as this release knows them, whatever schema their file has (Hudi: TimelineMetadataUtils).

As in Hudi, what an older release did not write yet gets its default, and a record of another kind is an error.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.timeline.payloads import schemas
from spark_jobs.core.timeline.payloads.paths import refuse_paths_outside
from spark_jobs.core.timeline.payloads.payload import Kind, kind_of

Shape = Callable[[Any], Any]
"""Gives the value with what it lacks.

:raises _UnfitError: it is of another type.
"""

_PLAIN: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "double": (float, int),
}
_REQUIRED = object()


class _UnfitError(Exception):
    """Where in a record something else stands, and what belongs there."""


def shaped(raw: Mapping[str, Any], instant: Instant, name: str = "") -> dict[str, Any]:
    """A decoded plan or result with all fields that this release knows, and those that it does not.

    :raises CorruptTableError: it is of another kind.
    :raises OutsideTableError: it names a path that leads out of the table.
    """
    kind = kind_of(instant)
    schema = None if kind is None else schemas.SCHEMAS.get(kind)
    if kind is None or schema is None:
        return dict(raw)
    try:
        found: dict[str, Any] = _shape_for(kind)(raw)
    except _UnfitError as error:
        raise CorruptTableError(
            f"{name or instant} is no {schema['name']} ({str(error).lstrip('.: ')})",
            todo=RESTORE_FILE,
            name=name or str(instant),
        ) from error
    refuse_paths_outside(found, instant, name or str(instant))
    return found


@cache
def _shape_for(kind: Kind) -> Shape:
    return _shape_of(schemas.SCHEMAS[kind], {})


def _shape_of(schema: schemas.Schema, named: dict[str, Shape]) -> Shape:
    if isinstance(schema, str) and schema in named:
        return named[schema]
    if isinstance(schema, list):
        inner = _shape_of(next(branch for branch in schema if branch != "null"), named)
        return lambda value: None if value is None else inner(value)
    kind = schema["type"] if isinstance(schema, Mapping) else schema
    if not isinstance(kind, str):
        return _shape_of(kind, named)
    if kind == "record":
        return _record(schema, named)
    if kind == "array":
        return _array(_shape_of(schema["items"], named))
    if kind == "map":
        return _map(_shape_of(schema["values"], named))
    return _plain(kind)


def _plain(kind: str) -> Shape:
    types = _PLAIN[kind]

    def shape(value: Any) -> Any:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise _UnfitError(f": a {type(value).__name__} where a {kind} belongs")
        return value

    return shape


def _array(item: Shape) -> Shape:
    def shape(value: Any) -> Any:
        if not isinstance(value, list):
            raise _UnfitError(f": a {type(value).__name__} where an array belongs")
        return [item(one) for one in value]

    return shape


def _map(inner: Shape) -> Shape:
    def shape(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _UnfitError(f": a {type(value).__name__} where a map belongs")
        return {key: inner(one) for key, one in value.items()}

    return shape


def _record(schema: Mapping[str, Any], named: dict[str, Shape]) -> Shape:
    fields: list[tuple[str, Shape, Any]] = []

    def shape(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _UnfitError(f": a {type(value).__name__} where a {schema['name']} belongs")
        out = dict(value)
        for name, inner, default in fields:
            if name in value:
                try:
                    out[name] = inner(value[name])
                except _UnfitError as error:
                    raise _UnfitError(f".{name}{error}") from error
            elif default is _REQUIRED:
                raise _UnfitError(f".{name}: nothing where something belongs")
            else:
                out[name] = copy.copy(default)
        return out

    named[schema["name"]] = shape
    for field in schema["fields"]:
        kind = field["type"]
        default = field.get("default", None if isinstance(kind, list) and "null" in kind else _REQUIRED)
        fields.append((field["name"], _shape_of(kind, named), default))
    return shape
