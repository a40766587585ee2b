"""What a write asks of the columns of a source that this process reads."""

from __future__ import annotations

import pyarrow as pa

from spark_jobs.core.errors import ConfigError
from spark_jobs.options.choices import Operation
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.stored_schema import needs_keys_alone, refuse_own_name


def refuse_unusable_columns(schema: pa.Schema, config: WriteConfig, *, what: str = "source") -> None:
    """
    :param what: how messages call the rows.
    :raises ConfigError: the data lacks a column by which records go, or one is of a type that can't be that.
    """
    spec = config.key_spec
    takes_paths = config.operation is Operation.DELETE_PARTITION
    wanted = [] if takes_paths else [(name, "record key field") for name in spec.record_key_fields]
    wanted += [(name, "partition path field") for name in spec.partition_fields]
    ordering = "" if needs_keys_alone(config) else config.precombine_field
    if ordering:
        wanted.append((ordering, "precombine field"))
    for name, role in wanted:
        if _type_of(schema, name) is None:
            raise ConfigError(
                f"the {what} has no column {name}, which is a {role}",
                todo="its columns are " + ", ".join(schema.names),
                column=name,
            )
    kind = _type_of(schema, ordering) if ordering else None
    if kind is not None and pa.types.is_nested(kind):
        raise ConfigError(
            f"the precombine field {ordering} is of type {kind}, which has no order",
            todo="take a column of numbers, times or text",
            column=ordering,
        )
    for name in schema.names:
        refuse_own_name(name)


def _type_of(schema: pa.Schema, name: str) -> pa.DataType | None:
    """The type of a column, or by ``a.b`` of a struct's field; None where there is none."""
    kind: pa.DataType = pa.struct(list(schema))
    for part in (name,) if name in schema.names else name.split("."):
        index = kind.get_field_index(part) if pa.types.is_struct(kind) else -1
        if index < 0:
            return None
        kind = kind.field(index).type
    return kind
