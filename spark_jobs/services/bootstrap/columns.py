"""The columns that a bootstrap's options name, looked for in the source before anything is done."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.keygen.keys import partition_paths, record_keys
from spark_jobs.core.keygen.spec import KeySpec


def refuse_missing_columns(schema: pa.Schema, spec: KeySpec, precombine_field: str, folders: Sequence[str]) -> None:
    """As the writes to the table would refuse them.

    :param schema: the table's columns, with those partition columns that the source's folders tell.
    :param folders: all columns that they tell by name.
    :raises ConfigError: a field of keys, partitions or precombining is no column, or of a type that it can't have.
    """
    known = list(dict.fromkeys([*schema.names, *folders]))
    for name in spec.record_key_fields:
        _require(schema, name, "record key field", known)
    for name in spec.partition_fields:
        _require(schema, name, "partition path field", known)
    nothing = schema.empty_table()
    record_keys(nothing, spec)  # refuses types that make no text
    partition_paths(nothing, spec)
    if precombine_field:
        _require(schema, precombine_field, "precombine field", known)
        _require_order(schema, precombine_field)


def _require(schema: pa.Schema, name: str, what: str, known: Sequence[str]) -> None:
    if name in schema.names:
        return
    first, *inner = name.split(".")
    kind = schema.field(first).type if first in schema.names else None
    for one in inner:
        is_there = kind is not None and pa.types.is_struct(kind) and kind.get_field_index(one) >= 0
        kind = kind.field(one).type if is_there and kind is not None else None
    if kind is None:
        raise ConfigError(
            f"the source has no column {name}, which is a {what}",
            todo="its columns are " + ", ".join(known),
            column=name,
        )


def _require_order(schema: pa.Schema, name: str) -> None:
    if name not in schema.names:
        raise ConfigError(
            f"the precombine field {name} is a field of a struct, by which this release does not write",
            todo="name a column of the source, or none",
            column=name,
        )
    kind = schema.field(name).type
    if pa.types.is_nested(kind):
        raise ConfigError(
            f"the precombine field {name} is of type {kind}, which has no order",
            todo="give --precombine-field a column of numbers, times or text",
            column=name,
        )
