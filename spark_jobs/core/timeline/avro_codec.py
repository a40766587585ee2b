"""One Avro record in an object container file, as every Avro payload of the timeline is stored."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

import fastavro

from spark_jobs.core.errors import CorruptTableError


def encode_payload(schema: Mapping[str, Any], value: Mapping[str, Any]) -> bytes:
    """An object container file with the null codec and exactly one record."""
    sink = io.BytesIO()
    fastavro.writer(sink, dict(schema), [value], codec="null")
    return sink.getvalue()


def decode_payload(data: bytes, name: str) -> dict[str, Any]:
    """The one record of an object container file, by its own schema.

    :raises CorruptTableError: no such file, or no record in it.
    """
    try:
        records: Iterator[Any] = fastavro.reader(io.BytesIO(data))
        record = next(records)
    except (StopIteration, ValueError, EOFError, IndexError, TypeError) as error:
        raise CorruptTableError(f"{name} is not an Avro container file with a record ({error})", name=name) from error
    if not isinstance(record, dict):
        raise CorruptTableError(f"{name} holds a {type(record).__name__} where an Avro record belongs", name=name)
    return record
