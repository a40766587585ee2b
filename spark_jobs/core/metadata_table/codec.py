"""The cells of the metadata table: one record each, in the one schema that all partitions share.

Hudi: HoodieMetadataPayload, HoodieAvroHFileWriter.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import fastavro

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.metadata_table.schema import STORED
from spark_jobs.core.timeline.payloads.avro_codec import parsed_schema

R = TypeVar("R")

_NAMED: dict[str, Any] = {"return_record_name": True, "return_record_name_override": True}
"""A value of a union of several records tells which one it is, as (name, record)."""


@dataclass(frozen=True, slots=True)
class Codec(Generic[R]):
    """How one partition's records look as values here.

    ``to_avro`` takes the key too, ``from_avro`` a decoded record and where it stands (for messages); ``merge`` makes
    one of an older and a newer record of the same key.
    """

    to_avro: Callable[[str, R], Mapping[str, Any]]
    from_avro: Callable[[Mapping[str, Any], str], R]
    merge: Callable[[R, R], R]

    def encode(self, key: str, record: R, file_name: str | None = None) -> bytes:
        """The value of a cell: the record with an empty key.

        :param file_name: of the HFile, in base files; in log blocks all meta columns are null.
        """
        sink = io.BytesIO()
        whole = {**self.to_avro(key, record), "key": "", "_hoodie_file_name": file_name}
        fastavro.schemaless_writer(sink, STORED, whole)
        return sink.getvalue()

    def decode(self, value: bytes, schema_json: str, where: str) -> R:
        """A cell's value as a record, by the schema that it was written with.

        :raises CorruptTableError: it is no record of this partition.
        """
        record = _decode(value, schema_json, where)
        try:
            return self.from_avro(record, where)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise CorruptTableError(f"{where} holds no record of its partition ({error!r})", where=where) from error


def _decode(value: bytes, schema_json: str, where: str) -> dict[str, Any]:
    try:
        record = fastavro.schemaless_reader(io.BytesIO(value), _parsed(schema_json), None, **_NAMED)
    except (EOFError, ValueError, IndexError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise CorruptTableError(f"{where} holds no metadata record ({error})", where=where) from error
    if not isinstance(record, dict):
        raise CorruptTableError(f"{where} holds no metadata record", where=where)
    return record


@lru_cache(maxsize=8)
def _parsed(schema_json: str) -> Any:
    try:
        return parsed_schema(schema_json)
    except Exception as error:  # json and fastavro raise whatever the text leads them to
        raise CorruptTableError(f"a file of the metadata table has no Avro schema ({error})") from error
