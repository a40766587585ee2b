"""Values of a source that a cast would change: times that the table's coarser unit can't hold, and kinds of values that
have only their bits in common with what the table has.

Readers cut such times, as Hudi does, where an old file has a finer unit than the table; a write must not lose them so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError

_STEPS = {"us": 1000, "ns": 1_000_000}
"""Of a unit in a millisecond. Nanoseconds in a table of microseconds are cut: Spark has none."""


def refuse_cut_times(rows: pa.Table, schema: pa.Schema) -> None:
    """
    :param schema: the types that the rows are to have, columns by name.
    :raises BadRecordError: a timestamp has digits behind the millisecond, and its column of ``schema`` has none.
    """
    for field in schema:
        if field.name not in rows.schema.names or not _has_coarser(rows.schema.field(field.name).type, field.type):
            continue
        for chunk in rows.column(field.name).chunks:
            lost = _first_cut(chunk, field.type)
            if lost is not None:
                raise BadRecordError(
                    f"column {field.name} holds {lost}, the table has milliseconds only",
                    todo=f"cut it in the source (date_trunc('MILLISECOND', {field.name})), or add another column",
                    column=field.name,
                )


def refuse_other_kinds(rows: pa.Schema, schema: pa.Schema) -> None:
    """A boolean, a date or a timestamp is no number, nor the other way round, though Arrow casts them.

    :param schema: the types that rows of the schema ``rows`` are to have, columns by name.
    :raises BadRecordError: a column, or a part of one, is of another kind.
    """
    for field in schema:
        if field.name not in rows.names:
            continue
        pair = _other_kinds(rows.field(field.name).type, field.type)
        if pair is not None:
            raise BadRecordError(
                f"column {field.name} holds {pair[0]}, the table has {pair[1]}",
                todo="convert it in the source",
                column=field.name,
            )


# times of a day are none of these: Spark has them as numbers
_KINDS = (
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_duration,
    lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind),
)


def _other_kinds(source: Any, target: Any) -> tuple[Any, Any] | None:
    """The first part of two types, themselves where they have none, of different kinds; None where there is none."""
    if isinstance(source, pa.DictionaryType):
        return _other_kinds(source.value_type, target)
    if isinstance(source, pa.StructType) and isinstance(target, pa.StructType):
        pairs = (_other_kinds(source.field(one.name).type, one.type) for one in _common(source, target))
        return next((pair for pair in pairs if pair is not None), None)
    if isinstance(source, pa.MapType) and isinstance(target, pa.MapType):
        return _other_kinds(source.key_type, target.key_type) or _other_kinds(source.item_type, target.item_type)
    if _is_list(source) and _is_list(target):
        return _other_kinds(source.value_type, target.value_type)
    known = [[is_kind(one) for is_kind in _KINDS] for one in (source, target)]
    return (source, target) if all(map(any, known)) and known[0] != known[1] else None


def _has_coarser(source: Any, target: Any) -> bool:
    """Whether a part of the type has milliseconds where the source's has a finer unit."""
    if isinstance(source, pa.DictionaryType):
        return _has_coarser(source.value_type, target)
    if isinstance(source, pa.TimestampType) and isinstance(target, pa.TimestampType):
        return target.unit == "ms" and source.unit in _STEPS
    if isinstance(source, pa.StructType) and isinstance(target, pa.StructType):
        return any(_has_coarser(source.field(one.name).type, one.type) for one in _common(source, target))
    if isinstance(source, pa.MapType) and isinstance(target, pa.MapType):
        return _has_coarser(source.item_type, target.item_type)
    if _is_list(source) and _is_list(target):
        return _has_coarser(source.value_type, target.value_type)
    return False


def _first_cut(array: Any, target: Any) -> str | None:
    """The first value that would lose digits, as text."""
    source = array.type
    if not _has_coarser(source, target):
        return None
    if isinstance(source, pa.DictionaryType):
        return _first_cut(array.dictionary_decode(), target)
    if isinstance(source, pa.StructType):
        values = dict(zip((field.name for field in source), array.flatten(), strict=True))
        found = (_first_cut(values[field.name], field.type) for field in _common(source, target))
        return next((one for one in found if one is not None), None)
    if isinstance(source, pa.MapType):
        return _first_cut(_items_of(array), target.item_type)
    if _is_list(source):
        return _first_cut(array.flatten(), target.value_type)
    ticks = np.asarray(pc.fill_null(array.cast(pa.int64()), 0))
    cut = np.flatnonzero(ticks % _STEPS[source.unit])
    return str(array[int(cut[0])].cast(pa.string())) if len(cut) else None


def _items_of(array: Any) -> Any:
    """The values of maps, without those that stand behind a null."""
    as_lists = array.cast(pa.list_(pa.struct([pa.field("key", array.type.key_type), array.type.item_field])))
    return as_lists.flatten().flatten()[1]


def _common(source: Any, target: Any) -> list[pa.Field[Any]]:
    return [field for field in target if source.get_field_index(field.name) >= 0]


def _is_list(kind: Any) -> bool:
    return isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)
