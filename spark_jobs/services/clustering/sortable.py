"""By which columns rows can be put in order; pure."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from spark_jobs.core.config.keys.clustering import LayoutStrategy
from spark_jobs.core.errors import ConfigError


def sort_columns_in(
    schema: pa.Schema, columns: Iterable[str], layout: LayoutStrategy, owner: str, todo: str = ""
) -> tuple[str, ...]:
    """The columns by their names in the schema, also where those differ by case, which Spark, and so Hudi, does not
    mind.

    :param schema: of the table's rows.
    :param owner: the table in words.
    :param todo: what to do about a column, where it is not to choose others.
    :raises ConfigError: a column that is not there, or whose values have no order in the layout.
    """
    found = []
    for wanted in columns:
        alike = [name for name in schema.names if name.lower() == wanted.lower()]
        if wanted not in alike and len(alike) != 1:
            raise ConfigError(
                f"sort column {wanted} is not in {owner}", todo=todo or "its columns are " + ", ".join(schema.names)
            )
        name = wanted if wanted in alike else alike[0]
        kind = schema.field(name).type
        if not (on_curve(kind) if layout is not LayoutStrategy.LINEAR else in_line(kind)):
            raise ConfigError(
                f"rows of {owner} can't be laid out {layout.value} by column {name}, which is {kind}",
                todo=todo or "sort by other columns",
            )
        found.append(name)
    return tuple(found)


def in_line(kind: pa.DataType) -> bool:
    """Arrow sorts structs too, by their fields."""
    if pa.types.is_struct(kind):
        return all(in_line(field.type) for field in kind)
    return not (pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or pa.types.is_float16(kind))


def on_curve(kind: pa.DataType) -> bool:
    """Values of which the layout makes 64 bits that compare as they do."""
    if pa.types.is_duration(kind):
        return False
    return any(is_such(kind) for is_such in _WITH_BITS)


_WITH_BITS = (
    pa.types.is_temporal,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_binary,
)
