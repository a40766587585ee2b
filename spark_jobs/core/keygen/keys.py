"""Record keys and partition paths of Arrow rows, by the rules of Hudi's key generators (KeyGenUtils)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.config.keys.keygen import REFUSE_AMBIGUOUS
from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.keygen.java_text import java_text, utf8
from spark_jobs.core.keygen.path_names import (
    ENCODE_TODO,
    RESERVED,
    RESERVED_PATH,
    RESERVED_TODO,
    escape,
    why_refused,
)
from spark_jobs.core.keygen.spec import DEFAULT_PARTITION, EMPTY_PLACEHOLDER, NULL_PLACEHOLDER, KeySpec, PartitionPart


def record_keys(rows: pa.RecordBatch | pa.Table, spec: KeySpec) -> pa.Array:
    """The record key of each row: strings, none null.

    :raises BadRecordError: a row without a value in any of its key columns, or whose key is too long for the write.
    :raises ConfigError: a key column is missing, or of a type that makes no key.
    """
    keys = _record_keys(rows, spec)
    if spec.limit is not None:
        spec.limit.check(keys)
    return keys


def _record_keys(rows: pa.RecordBatch | pa.Table, spec: KeySpec) -> pa.Array:
    fields = spec.record_key_fields
    texts = _key_texts(rows, spec)
    filled = [pc.fill_null(text, "") for text in texts]
    empty = [pc.equal(text, "") for text in filled]
    nothing = empty[0]
    for one in empty[1:]:
        nothing = pc.and_(nothing, one)
    if pc.any(nothing).as_py():
        raise BadRecordError(
            f"a record has no value in its key ({', '.join(fields)})", todo="fill it in the source", columns=fields
        )
    if not spec.composite_key:
        return texts[0]
    if spec.refuses_ambiguous and len(fields) > 1:
        for name, text in zip(fields, texts, strict=True):
            if pc.any(_is_ambiguous(text, fields)).as_py():
                raise BadRecordError(ambiguous_key(name, fields), column=name)
    pieces: list[pa.Array | str] = []
    for number, (name, text, filler) in enumerate(zip(fields, texts, empty, strict=True)):
        pieces.append(f"{',' if number else ''}{name}:")
        shown = pc.if_else(pc.and_(filler, pc.is_valid(text)), EMPTY_PLACEHOLDER, text)
        pieces.append(pc.fill_null(shown, NULL_PLACEHOLDER))
    return pc.binary_join_element_wise(*pieces, "")


def _key_texts(rows: pa.RecordBatch | pa.Table, spec: KeySpec) -> list[pa.Array]:
    consistent = spec.consistent_timestamps
    return [java_text(column_of(rows, name), name, consistent_timestamps=consistent) for name in spec.record_key_fields]


def ambiguous_keys(rows: pa.RecordBatch | pa.Table, spec: KeySpec) -> pa.Array:
    """For each row whether other values of its key columns may give the same key, in which they stand as
    ``a:1,b:2``; booleans, none null.
    """
    fields = spec.record_key_fields
    found = pa.repeat(pa.scalar(False), rows.num_rows)
    for text in _key_texts(rows, spec) if len(fields) > 1 else ():
        found = pc.or_(found, _is_ambiguous(text, fields))
    return found


def separators(fields: Sequence[str]) -> list[str]:
    """What stands between two values of a key; inside a value it may be taken for one."""
    return [f",{name}:" for name in fields[1:]]


def ambiguous_key(name: str, fields: Sequence[str]) -> str:
    """What is said of a row whose key other values may give, too."""
    texts = ", ".join(map(repr, (*separators(fields), NULL_PLACEHOLDER, EMPTY_PLACEHOLDER)))
    return (
        f"a value of key column {name} has one of {texts} in it, so that another record may get the same key: "
        f"correct it in the source, or leave {REFUSE_AMBIGUOUS.name} out"
    )


def _is_ambiguous(text: pa.Array, fields: Sequence[str]) -> pa.Array:
    filled = pc.fill_null(text, "")
    found = pc.is_in(filled, value_set=pa.array([NULL_PLACEHOLDER, EMPTY_PLACEHOLDER], filled.type))
    for separator in separators(fields):
        found = pc.or_(found, pc.match_substring(filled, separator))
    return found


def partition_paths(rows: pa.RecordBatch | pa.Table, spec: KeySpec) -> pa.Array:
    """The partition path of each row, relative to the base path: strings, ``""`` without partition columns.

    :raises BadRecordError: a value that makes no path.
    :raises ConfigError: a column is missing, or of a type that makes no path.
    """
    if not spec.parts:
        return pa.repeat(pa.scalar(""), rows.num_rows)
    levels = [partition_level(column_of(rows, part.field), part, spec) for part in spec.parts]
    return levels[0] if len(levels) == 1 else pc.binary_join_element_wise(*levels, "/")


def partition_level(column: pa.Array, part: PartitionPart, spec: KeySpec) -> pa.Array:
    """One level of the path; the work on text is done once for each distinct value."""
    if part.is_time and spec.time_rule is not None:
        given = _as_hudi_has_it(column, consistent=spec.consistent_timestamps)
        checked = utf8(given, part.field) if pa.types.is_string(given.type) else given
        texts = spec.time_rule.values(checked, part.field)
    else:
        texts = pc.fill_null(java_text(column, part.field, consistent_timestamps=spec.consistent_timestamps), "")
    codes = texts.dictionary_encode()
    names = [_folder(text, part, spec) for text in codes.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(codes.indices)


def _folder(text: str, part: PartitionPart, spec: KeySpec) -> str:
    value = text or DEFAULT_PARTITION
    if spec.url_encode:
        value = escape(value)
    folder = f"{part.field}={value}" if spec.hive_style else value
    refused = why_refused(folder)
    if folder == RESERVED_PATH and len(spec.parts) == 1:
        refused = RESERVED, RESERVED_TODO
    if refused is not None:
        why, todo = refused
        todo = RESERVED_TODO if spec.url_encode and todo == ENCODE_TODO else todo
        raise BadRecordError(f"a value of partition column {part.field} {why}", todo=todo, column=part.field)
    return folder


def _as_hudi_has_it(column: pa.Array, *, consistent: bool) -> pa.Array:
    """Timestamps that are to be read as such become milliseconds with their zone; all else stays."""
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type):
        return column.cast(pa.string())
    if pa.types.is_timestamp(column.type) and not consistent:
        return column.cast(pa.int64())
    return column


def type_at(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of a column, or by ``a.b`` of a struct's field; the null type where there is none."""
    kind: pa.DataType = pa.struct(list(schema))
    for part in (name,) if name in schema.names else name.split("."):
        index = kind.get_field_index(part) if pa.types.is_struct(kind) else -1
        if index < 0:
            return pa.null()
        kind = kind.field(index).type
    return kind


def column_of(rows: pa.RecordBatch | pa.Table, name: str) -> pa.Array:
    """A column, or by ``a.b`` a field of a struct (null where the struct is), in one piece.

    :raises ConfigError: there is none.
    """
    first, *inner = (name,) if name in rows.schema.names else name.split(".")
    index = rows.schema.get_field_index(first)
    if index < 0:
        raise _missing(name, rows.schema)
    column = rows.column(index)
    found = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    for field in inner:
        if not pa.types.is_struct(found.type) or found.type.get_field_index(field) < 0:
            raise _missing(name, rows.schema)
        found = pc.struct_field(found, field)
    return found


def _missing(name: str, schema: pa.Schema) -> ConfigError:
    return ConfigError(
        f"there is no column {name}, which makes keys or partition paths",
        todo="the columns are " + ", ".join(schema.names),
        column=name,
    )
