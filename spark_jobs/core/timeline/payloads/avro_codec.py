"""Avro records of the timeline: one in an object container file (every Avro payload), or bare (archive entries)."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import fastavro

from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError, HudiError
from spark_jobs.core.schema.avro_names import resolve_names

_DEEPEST = 32
"""Levels of nesting in a schema; the deepest of the timeline's has 11."""
_HEADER = fastavro.parse_schema(
    {
        "type": "record",
        "name": "org.apache.avro.file.Header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
        ],
    }
)
_MAGIC = b"Obj\x01"
_LONG = fastavro.parse_schema({"type": "long"})


def encode_payload(
    schema: Mapping[str, Any], value: Mapping[str, Any], note: Mapping[str, str] = MappingProxyType({})
) -> bytes:
    """An object container file with the null codec and exactly one record.

    :param note: goes into the file's header, beside the schema: readers of the record do not see it.
    """
    sink = io.BytesIO()
    fastavro.writer(sink, dict(schema), [value], codec="null", metadata=dict(note))
    return sink.getvalue()


def note_of(data: bytes) -> dict[str, str]:
    """What stands in the header of an object container file beside what Avro puts there; nothing of a torn file."""
    try:
        header: Any = fastavro.schemaless_reader(io.BytesIO(data), _HEADER, None)
        return {name: value.decode() for name, value in header["meta"].items() if not name.startswith("avro.")}
    except Exception:  # fastavro raises whatever the bytes lead it to
        return {}


def decode_payload(data: bytes, name: str) -> dict[str, Any]:
    """The first record of an object container file, by its own schema.

    :raises CorruptTableError: no such file, or no record in it; or a compressed one, which Hudi never writes.
    """
    source = io.BytesIO(data)
    try:
        header: Any = fastavro.schemaless_reader(source, _HEADER, None)
        if header["magic"] != _MAGIC:
            raise ValueError("it does not begin as one")
        codec = header["meta"].get("avro.codec", b"null")
        if codec != b"null":
            raise ValueError(f"its codec is {codec!r}")
        schema = parsed_schema(header["meta"]["avro.schema"].decode())
        count: Any = fastavro.schemaless_reader(source, _LONG, None)
        size: Any = fastavro.schemaless_reader(source, _LONG, None)
        if count < 1 or not 0 <= size <= len(data) - source.tell():
            raise ValueError(f"its first block has {count} records in {size} bytes")
        return decode_record(source.read(size), schema)
    except Exception as error:  # fastavro raises whatever the bytes lead it to
        what = f"{name} is not an Avro container file with a record ({error})"
        raise CorruptTableError(what, todo=RESTORE_FILE, name=name) from error


def encode_record(schema: Mapping[str, Any], value: Mapping[str, Any]) -> bytes:
    """A record's bare binary form."""
    sink = io.BytesIO()
    fastavro.schemaless_writer(sink, dict(schema), value)
    return sink.getvalue()


def decode_record(
    data: bytes | memoryview, schema: Mapping[str, Any], wanted: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A record from its bare binary form; raises whatever fastavro does on bytes that are none.

    :param schema: from :func:`parsed_schema`.
    :param wanted: the same record with some of its fields; the others are passed over.
    """
    record: Any = fastavro.schemaless_reader(io.BytesIO(data), dict(schema), None if wanted is None else dict(wanted))
    if not isinstance(record, dict):
        raise ValueError(f"a {type(record).__name__} stands where a record belongs")
    return record


@lru_cache(maxsize=64)
def parsed_schema(text: str) -> dict[str, Any]:
    """The schema of a file, refused where bytes could lead its reader astray: types that hold themselves (a stack
    without end), arrays of what takes no bytes (a loop without end), many values that take none.

    :raises ValueError: no such schema; or what ``json`` and fastavro raise.
    """
    raw = json.loads(text)
    _least_bytes(raw, {}, 0)
    try:
        resolve_names(raw)
    except HudiError as error:
        raise ValueError(error.what) from error
    parsed: Any = fastavro.parse_schema(raw)
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise ValueError("its schema is no record")
    return parsed


def _least_bytes(schema: Any, named: dict[str, int | None], depth: int) -> int:
    """The fewest bytes that a value takes. ``named`` holds those of the types so far, None while one is inside."""
    if depth > _DEEPEST:
        raise ValueError(f"its schema is nested deeper than {_DEEPEST} levels")
    if isinstance(schema, str):
        return _least_of_name(schema, named)
    if isinstance(schema, list):
        return 1 + min((_least_bytes(one, named, depth + 1) for one in schema), default=0)
    kind = schema["type"]
    if kind == "array":
        if _least_bytes(schema["items"], named, depth + 1) == 0:
            raise ValueError("its schema has an array of values without bytes")
        return 1
    if kind == "map":
        _least_bytes(schema["values"], named, depth + 1)
        return 1
    if kind in ("record", "error"):
        name = _new_name(schema, named)
        named[name] = None
        named[name] = least = sum(_least_bytes(field["type"], named, depth + 1) for field in schema["fields"])
        return least
    if kind in ("enum", "fixed"):
        named[_new_name(schema, named)] = least = 1 if kind == "enum" else max(int(schema["size"]), 0)
        return least
    return _least_bytes(kind, named, depth + 1)


def _least_of_name(name: str, named: Mapping[str, int | None]) -> int:
    if name == "null":
        return 0
    known = named.get(_simple(name), 1)
    if known is None:
        raise ValueError(f"its type {name} holds itself")
    return known


def _new_name(schema: Mapping[str, Any], named: Mapping[str, int | None]) -> str:
    """Namespaces are left out: two types of one simple name could stand in for each other here."""
    name = _simple(schema["name"])
    if name in named:
        raise ValueError(f"its schema defines {name} twice")
    return name


def _simple(name: str) -> str:
    return name.rpartition(".")[2]
