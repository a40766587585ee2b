"""What no change of a schema may leave: types and names that files can't have, other meta columns, other keys.

Hudi's TableChange forbids changes of meta columns too; it finds the rest when the next write fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import ConfigError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of
from spark_jobs.core.schema.internal import Column, InternalSchema, RecordType, children, walk
from spark_jobs.core.schema.meta_fields import META_FIELDS, OPERATION
from spark_jobs.core.schema.promotion import decimal_of

_HIDDEN = frozenset(name.lower() for name in (*META_FIELDS, OPERATION))
_MOST_DIGITS = 38
"""Of a decimal that can be written: Spark and Hive have no longer ones."""


def as_stored(new: InternalSchema, old: InternalSchema) -> InternalSchema:
    """The schema as readers find it again, names of types in small letters.

    :raises ConfigError: a type that schemas with ids don't have, a decimal of more than 38 digits or with more behind
        the point than it has, two columns of one name.
    """
    try:
        parsed = InternalSchema.parse(new.to_text(), "the new schema")
    except CorruptTableError as error:
        raise ConfigError(
            f"the new schema can't be stored ({error.__cause__})", todo="docs/types.md lists what may be changed"
        ) from error
    before = {column.id: column.type for _, column in walk(old.record)}
    for name, column in walk(parsed.record):
        if before.get(column.id) != column.type:
            _refuse_decimal(name, column)
            _refuse_twins(name, column)
    return parsed


def refuse_changed_meta_columns(old: InternalSchema, new: InternalSchema) -> None:
    """
    :raises ConfigError: a meta column is another, or new, or gone.
    """
    before, after = (list(_meta_columns(one)) for one in (old, new))
    if before == after:
        return
    changed = next(column for column in (*before, *after) if column not in before or column not in after)
    raise ConfigError(
        f"column {changed.name} is one of Hudi's own, which no change may add, drop, rename or alter",
        todo="choose another column or name",
        column=changed.name,
    )


def refuse_unwritable_columns(avro: Mapping[str, Any], old: InternalSchema, new: InternalSchema) -> None:
    """
    :param avro: the new schema, with or without meta columns.
    :raises ConfigError: a column that changed has a name or a type that can't be written.
    """
    try:
        arrow = arrow_schema_of(avro)
    except (CorruptTableError, UnsupportedTableError) as error:
        raise ConfigError(
            f"the new schema can't be stored ({error.what})", todo="docs/types.md lists what a table has"
        ) from error
    known = set(old.record.columns)
    changed = [column.name for column in new.record.columns if column not in known]
    try:
        avro_schema_of(pa.schema([arrow.field(name) for name in changed if name in arrow.names]), "t")
    except ConfigError as error:
        raise ConfigError(error.what, todo="choose another; docs/types.md lists what a table has") from error


def path_of(schema: InternalSchema, name: str) -> tuple[Column, ...]:
    """The columns that a full name leads through, the one that it names last; empty where there is none such."""
    found: list[Column] = []
    parts = schema.record
    for own in name.split("."):
        column = parts.find(own)
        if column is None:
            return ()
        found.append(column)
        parts = RecordType(children(column.type))
    return tuple(found)


def is_same_path(old: tuple[Column, ...], new: tuple[Column, ...]) -> bool:
    """Whether a full name leads to the same: columns of the same ids and names, the last one of the same type."""
    if [(one.id, one.name) for one in old] != [(one.id, one.name) for one in new]:
        return False
    return not old or old[-1].type == new[-1].type


def _meta_columns(schema: InternalSchema) -> Iterator[Column]:
    return (column for column in schema.record.columns if column.name.lower() in _HIDDEN)


def _refuse_decimal(name: str, column: Column) -> None:
    digits = decimal_of(column.type)
    if digits is not None and not (digits[1] <= digits[0] and 1 <= digits[0] <= _MOST_DIGITS):
        raise ConfigError(
            f"column {name} would be {column.type}, which no table has",
            todo=f"give 1 to {_MOST_DIGITS} digits, and no more of them behind the point",
            column=name,
        )


def _refuse_twins(name: str, column: Column) -> None:
    if not isinstance(column.type, RecordType):
        return
    names = [one.name.lower() for one in column.type.columns]
    twin = next((one.name for one in column.type.columns if names.count(one.name.lower()) > 1), None)
    if twin is not None:
        raise ConfigError(f"there are two columns {name}.{twin}", todo="choose other names", column=f"{name}.{twin}")
