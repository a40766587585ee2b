"""What ALTER TABLE does to a schema with ids (Hudi: TableChanges, InternalSchemaChangeApplier).

Names are full names: ``address.street``, ``stops.element.name``, ``sizes.value``. Each function gives a new schema;
ids of dropped columns are never given again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.internal import (
    ELEMENT,
    VALUE,
    ArrayType,
    Column,
    InternalSchema,
    InternalType,
    MapType,
    RecordType,
    children,
)
from spark_jobs.core.schema.promotion import may_become


def add_column(
    schema: InternalSchema,
    name: str,
    kind: InternalType,
    doc: str | None = None,
    *,
    after: str | None = None,
    before: str | None = None,
    first: bool = False,
) -> InternalSchema:
    """A new column, which may be null; at the end of its record unless a place is given (a sibling's own name).

    :raises ConfigError: the record has such a column, or there is no such record or sibling.
    """
    parent, own = _split(name)
    ids = count(schema.max_column_id + 1)
    column = Column(id=next(ids), name=own, optional=True, type=_with_new_ids(kind, ids), doc=doc)

    def change(record: RecordType) -> RecordType:
        if record.find(own) is not None:
            raise ConfigError(f"there is a column {name} already", todo="choose another name", column=name)
        return _placed(record, column, after=after, before=before, first=first)

    return _of(schema, _in_record(schema.record, parent, change, name), next(ids) - 1)


def drop_column(schema: InternalSchema, name: str) -> InternalSchema:
    """
    :raises ConfigError: there is no such column, or it is the last one of its record.
    """
    parent, own = _split(name)

    def change(record: RecordType) -> RecordType:
        gone = _get(record, own, name)
        if len(record.columns) == 1:
            raise ConfigError(
                f"{name} is the last column of its struct", todo="drop the struct as a whole", column=name
            )
        return RecordType(tuple(one for one in record.columns if one is not gone))

    return _of(schema, _in_record(schema.record, parent, change, name))


def rename_column(schema: InternalSchema, name: str, new_name: str) -> InternalSchema:
    """Another name (without its parents') for a column, which keeps its id and so its data.

    :raises ConfigError: there is no such column, or another one has the new name.
    """
    parent, own = _split(name)

    def change(record: RecordType) -> RecordType:
        column, taken = _get(record, own, name), record.find(new_name)
        if taken is not None and taken is not column:
            raise ConfigError(f"there is a column {new_name} already", todo="choose another name", column=new_name)
        return _with(record, replace(column, name=new_name))

    return _of(schema, _in_record(schema.record, parent, change, name))


def move_column(
    schema: InternalSchema, name: str, *, after: str | None = None, before: str | None = None, first: bool = False
) -> InternalSchema:
    """Another place among its siblings, which are given by their own names.

    :raises ConfigError: there is no such column or sibling.
    """
    parent, own = _split(name)

    def change(record: RecordType) -> RecordType:
        column = _get(record, own, name)
        rest = RecordType(tuple(one for one in record.columns if one is not column))
        return _placed(rest, column, after=after, before=before, first=first)

    return _of(schema, _in_record(schema.record, parent, change, name))


def widen_column(schema: InternalSchema, name: str, kind: InternalType) -> InternalSchema:
    """A wider type, by :func:`may_become`; also for ``x.element`` and ``x.value``.

    :raises ConfigError: there is no such column, or Hudi does not allow the change.
    """

    def change(column: Column) -> Column:
        if not may_become(column.type, kind):
            shown = column.type if isinstance(column.type, str) else type(column.type).__name__
            raise ConfigError(
                f"column {name} is {shown} and can't become {kind}",
                todo="choose a wider type, or add another column",
                column=name,
            )
        return replace(column, type=kind)

    return _of(schema, _at(schema.record, name.split("."), change, name))


def make_optional(schema: InternalSchema, name: str) -> InternalSchema:
    """Let a column be null; also for ``x.element`` and ``x.value``."""
    return _of(schema, _at(schema.record, name.split("."), lambda column: replace(column, optional=True), name))


def comment_column(schema: InternalSchema, name: str, doc: str) -> InternalSchema:
    return _of(schema, _at(schema.record, name.split("."), lambda column: replace(column, doc=doc), name))


def _of(schema: InternalSchema, record: InternalType, at_least: int = -1) -> InternalSchema:
    assert isinstance(record, RecordType)
    return InternalSchema.of(record, schema.version, max(schema.max_column_id, at_least))


def _split(name: str) -> tuple[list[str], str]:
    *parent, own = name.split(".")
    return parent, own


def _get(record: RecordType, own: str, name: str) -> Column:
    found = record.find(own)
    if found is None:
        known = ", ".join(column.name for column in record.columns)
        raise ConfigError(f"there is no column {name}", todo=f"its siblings are {known}", column=name)
    return found


def _with(record: RecordType, changed: Column) -> RecordType:
    return RecordType(tuple(changed if one.id == changed.id else one for one in record.columns))


def _in_record(
    kind: InternalType, parent: list[str], change: Callable[[RecordType], RecordType], name: str
) -> InternalType:
    """``kind`` with the record below it changed that the path ``parent`` leads to."""
    if parent:
        return _at(kind, parent, lambda column: replace(column, type=_in_record(column.type, [], change, name)), name)
    if not isinstance(kind, RecordType):
        raise ConfigError(f"{name} is no place for a column", todo="name a column of a struct", column=name)
    return change(kind)


def _at(kind: InternalType, path: list[str], change: Callable[[Column], Column], name: str) -> InternalType:
    """``kind`` with the part changed that the path leads to."""
    parts = RecordType(children(kind))
    column = _get(parts, path[0], name)
    rest = path[1:]
    changed = replace(column, type=_at(column.type, rest, change, name)) if rest else change(column)
    if isinstance(kind, RecordType):
        return _with(kind, changed)
    if isinstance(kind, ArrayType) and path[0] == ELEMENT:
        return replace(kind, element=changed.type, optional=changed.optional)
    assert isinstance(kind, MapType)
    assert path[0] == VALUE
    return replace(kind, value=changed.type, optional=changed.optional)


def _placed(record: RecordType, column: Column, *, after: str | None, before: str | None, first: bool) -> RecordType:
    columns = list(record.columns)
    place = len(columns)
    if first:
        place = 0
    elif after is not None:
        place = columns.index(_get(record, after, after)) + 1
    elif before is not None:
        place = columns.index(_get(record, before, before))
    columns.insert(place, column)
    return RecordType(tuple(columns))


def _with_new_ids(kind: InternalType, ids: count[int]) -> InternalType:
    """The same type with the next ids, in the order in which Hudi gives them: siblings first."""
    if isinstance(kind, RecordType):
        fresh = [next(ids) for _ in kind.columns]
        return RecordType(
            tuple(
                replace(column, id=own, type=_with_new_ids(column.type, ids))
                for column, own in zip(kind.columns, fresh, strict=True)
            )
        )
    if isinstance(kind, ArrayType):
        return replace(kind, element_id=next(ids), element=_with_new_ids(kind.element, ids))
    if isinstance(kind, MapType):
        key_id, value_id = next(ids), next(ids)
        return replace(kind, key_id=key_id, value_id=value_id, value=_with_new_ids(kind.value, ids))
    return kind
