"""Rows in one schema, made to fit another: columns by name at every level, missing ones null, types widened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.schema.fixed import nulls_of
from spark_jobs.core.schema.widen import widen

ELEMENT, VALUE = "element", "value"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a column comes from: its name among its siblings in the stored rows, or None where they lack it.

    ``inner`` has the origins of its own fields, by their new names; those of a list stand under ``element``, those of a
    map's values under ``value``. What is not named there keeps its name.
    """

    name: str | None
    inner: Origins = field(default_factory=dict)


Origins = Mapping[str, Origin]


def conform(
    batch: pa.RecordBatch | pa.Table, schema: pa.Schema, origins: Origins | None = None
) -> pa.RecordBatch | pa.Table:
    """The columns of ``schema`` in its order; columns of ``batch`` that it lacks are dropped.

    :param origins: of columns that have another name in ``batch``, or none; all others are found by name.
    :raises BadRecordError: a value does not fit its column's type.
    """
    if not origins and batch.schema.equals(schema):
        return batch
    columns = []
    for wanted in schema:
        origin = (origins or {}).get(wanted.name) or Origin(wanted.name)
        index = -1 if origin.name is None else batch.schema.get_field_index(origin.name)
        if index < 0:
            columns.append(nulls_of(batch.num_rows, wanted.type))
        else:
            columns.append(_column(batch.column(index), wanted, origin.inner))
    return type(batch).from_arrays(columns, schema=schema)


def conform_values(
    column: pa.Array[Any] | pa.ChunkedArray[Any], target: pa.DataType, origins: Origins | None = None
) -> Any:
    """One column in another type; struct fields are found by name or by ``origins``, missing ones are null.

    :raises pa.ArrowInvalid: a value has no counterpart in the type.
    :raises pa.ArrowNotImplementedError: none of its values can have one.
    """
    if column.type.equals(target) and not origins:
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_values(chunk, target, origins or {}) for chunk in column.chunks], target)
    return _values(column, target, origins or {})


def has_form_of(stored: pa.Schema, wanted: pa.Schema) -> bool:
    """Whether a reader that looks columns up by name needs no conversion: each wanted column is there in its type, but
    for the names of list items and the unit of timestamps, or it is not there at all.
    """
    present = (field for field in wanted if stored.get_field_index(field.name) >= 0)
    return all(_same_form(stored.field(field.name).type, field.type) for field in present)


def _same_form(stored: Any, wanted: Any) -> bool:
    if isinstance(wanted, pa.StructType) and isinstance(stored, pa.StructType):
        places = [stored.get_field_index(field.name) for field in wanted]
        return min(places) >= 0 and all(
            _same_form(stored.field(place).type, field.type) for place, field in zip(places, wanted, strict=True)
        )
    if isinstance(wanted, pa.MapType) and isinstance(stored, pa.MapType):
        return _same_form(stored.item_type, wanted.item_type)
    if isinstance(wanted, pa.ListType) and isinstance(stored, pa.ListType):
        return _same_form(stored.value_type, wanted.value_type)
    if isinstance(wanted, pa.TimestampType) and isinstance(stored, pa.TimestampType):
        return (wanted.tz is None) == (stored.tz is None)
    return bool(stored.equals(wanted))


def stored_names(names: list[str], origins: Origins | None) -> list[str]:
    """The names under which stored rows have these columns, those that they lack left out."""
    found = ((origins or {}).get(name) or Origin(name) for name in names)
    return [origin.name for origin in found if origin.name is not None]


def inner_origins(origins: Origins, name: str) -> Origins:
    """The origins inside one of these columns."""
    origin = origins.get(name)
    return {} if origin is None else origin.inner


def _column(column: Any, wanted: pa.Field[Any], origins: Origins) -> Any:
    try:
        return conform_values(column, wanted.type, origins)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadRecordError(
            f"column {wanted.name} holds {column.type}, the table has {wanted.type} ({str(error).splitlines()[0]})",
            todo="convert the column in the source",
            column=wanted.name,
        ) from error


def _values(array: Any, target: Any, origins: Origins) -> Any:
    if array.type.equals(target) and not origins:
        return array
    if isinstance(array.type, pa.DictionaryType) and pa.types.is_nested(array.type.value_type):
        array = array.dictionary_decode()
    if isinstance(target, pa.StructType) and isinstance(array.type, pa.StructType):
        return _structs(array, target, origins)
    if isinstance(target, pa.MapType) and isinstance(array.type, pa.MapType):
        return _maps(array, target, origins)
    if isinstance(target, pa.ListType) and _is_list(array.type):
        return _lists(array, target, origins)
    if pa.types.is_nested(target) or pa.types.is_nested(array.type):
        raise pa.ArrowNotImplementedError("one is nested, the other is not, or otherwise")
    return widen(array, target)


def _is_list(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.ListType | pa.LargeListType | pa.FixedSizeListType)


def _structs(array: Any, target: Any, origins: Origins) -> Any:
    array = _whole(array)
    stored = array.flatten()  # null wherever the struct is: what stands there otherwise may be no value at all
    children = []
    for wanted in target:
        origin = origins.get(wanted.name) or Origin(wanted.name)
        index = -1 if origin.name is None else array.type.get_field_index(origin.name)
        if index < 0:
            children.append(nulls_of(len(array), wanted.type))
        else:
            children.append(_values(stored[index], wanted.type, origin.inner))
    return pa.Array.from_buffers(target, len(array), array.buffers()[:1], array.null_count, children=children)


def _lists(array: Any, target: Any, origins: Origins) -> Any:
    if not isinstance(array.type, pa.ListType):
        array = array.cast(pa.list_(array.type.value_field))
    array = _whole(array)
    inner = inner_origins(origins, ELEMENT)
    values = _values(array.values, target.value_type, inner)
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], array.null_count, children=[values])


def _maps(array: Any, target: Any, origins: Origins) -> Any:
    array = _whole(array)
    keys = _values(array.keys, target.key_type, {})
    items = _values(array.items, target.item_type, inner_origins(origins, VALUE))
    fields: list[pa.Field[Any]] = [pa.field("key", target.key_type, nullable=False), target.item_field]
    entries = pa.StructArray.from_arrays([keys, items], fields=fields)
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], array.null_count, children=[entries])


def _whole(array: Any) -> Any:
    """The same values in an array of their own: buffers of a slice begin before it."""
    return pa.concat_arrays([array, array.slice(0, 0)]) if array.offset else array
