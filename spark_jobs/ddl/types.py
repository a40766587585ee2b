"""Spark SQL's column types, as sqlglot parses them, to Arrow's."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from spark_jobs.core.errors import ConfigError

COMMENT = b"comment"
"""The key of a column's comment in the metadata of its Arrow field."""

_MAX_PRECISION = 38
_DEFAULT_PRECISION = 10

_SIMPLE: Mapping[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "TEXT": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
    "TIMESTAMPLTZ": pa.timestamp("us", tz="UTC"),
}
"""By sqlglot's names; what Spark calls ``timestamp`` is TIMESTAMPTZ there. It stores moments, so it has a zone."""
_OF_LENGTH = ("CHAR", "VARCHAR")
_KNOWN = (
    "boolean, tinyint, smallint, int, bigint, float, double, decimal(p, s), string, char(n), varchar(n), binary, date, "
    "timestamp, array<...>, map<string, ...> or struct<name: ...>"
)


def arrow_field_of(column: exp.ColumnDef) -> pa.Field:
    """The field of a column, or of a member of a struct: nullable unless it says NOT NULL; its comment as metadata.

    :raises ConfigError: a type that tables don't have, or a constraint that Hudi does not keep.
    """
    name = column.name
    nullable, comment = True, ""
    for constraint in column.args.get("constraints") or ():
        if isinstance(constraint.kind, exp.NotNullColumnConstraint):
            nullable = bool(constraint.kind.args.get("allow_null"))
        elif isinstance(constraint.kind, exp.CommentColumnConstraint):
            comment = constraint.kind.name
        else:
            raise ConfigError(
                f"column {name} has {constraint.sql(dialect='spark')}, which Hudi tables don't keep",
                todo="leave it out of the statement",
                column=name,
            )
    kind = column.args.get("kind")
    if not isinstance(kind, exp.DataType):
        raise ConfigError(f"column {name} has no type", todo=f"give one of {_KNOWN}", column=name)
    metadata = {COMMENT: comment.encode()} if comment else None
    return pa.field(name, arrow_type_of(kind, name), nullable=nullable, metadata=metadata)


def arrow_type_of(kind: exp.DataType, column: str) -> pa.DataType:
    """
    :param column: its name, for errors.
    :raises ConfigError: a type that tables don't have.
    """
    name = getattr(kind.this, "name", "")
    parameters = kind.expressions
    if name in _SIMPLE and not parameters:
        return _SIMPLE[name]
    if name in _OF_LENGTH and len(parameters) == 1:
        return pa.string()
    if name == "DECIMAL":
        return _decimal(kind, column)
    if name == "ARRAY" and len(parameters) == 1:
        return pa.list_(pa.field("element", arrow_type_of(parameters[0], column)))
    if name == "MAP" and len(parameters) == 2:
        key, value = (arrow_type_of(parameter, column) for parameter in parameters)
        return pa.map_(key, value)
    if name == "STRUCT" and parameters and all(isinstance(member, exp.ColumnDef) for member in parameters):
        return pa.struct([arrow_field_of(member) for member in parameters])
    raise ConfigError(
        f"column {column} has the type {kind.sql().lower()}, which Hudi tables don't have",
        todo=f"give one of {_KNOWN}",
        column=column,
    )


def _decimal(kind: exp.DataType, column: str) -> pa.DataType:
    texts = [parameter.name for parameter in kind.expressions]
    if len(texts) <= 2 and all(text.isdigit() and len(text) <= 2 for text in texts):
        precision, scale = [*map(int, texts), *(_DEFAULT_PRECISION, 0)[len(texts) :]]
        if 1 <= precision <= _MAX_PRECISION and scale <= precision:
            return pa.decimal128(precision, scale)
    raise ConfigError(
        f"column {column} has the type {kind.sql().lower()}",
        todo=f"give a precision of 1 to {_MAX_PRECISION} and a scale of at most that",
        column=column,
    )
