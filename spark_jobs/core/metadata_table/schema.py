"""The record of the metadata table (Hudi: HoodieMetadata.avsc), as its readers need it to be declared.

Every text carries ``avro.java.string``: Hudi's reader casts the keys of maps to Java strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fastavro

from spark_jobs.core.files.log_writer import schema_text
from spark_jobs.core.schema.avro import with_meta_fields

_TEXT = {"type": "string", "avro.java.string": "String"}
_WRAPPED: Mapping[str, Any] = {
    "BooleanWrapper": "boolean",
    "IntWrapper": "int",
    "LongWrapper": "long",
    "FloatWrapper": "float",
    "DoubleWrapper": "double",
    "BytesWrapper": "bytes",
    "StringWrapper": _TEXT,
    "DateWrapper": "int",
    "DecimalWrapper": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15},
    "TimeMicrosWrapper": {"type": "long", "logicalType": "time-micros"},
    "TimestampMicrosWrapper": "long",
}


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind}


def _optional(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


_FILE_INFO = _record("HoodieMetadataFileInfo", _field("size", "long"), _field("isDeleted", "boolean"))
_BLOOM_FILTER = _record(
    "HoodieMetadataBloomFilter",
    _field("type", _TEXT),
    _field("timestamp", _TEXT),
    _field("bloomFilter", "bytes"),
    _field("isDeleted", "boolean"),
)
_WRAPPERS = [_record(name, _field("value", kind)) for name, kind in _WRAPPED.items()]
_COLUMN_STATS = _record(
    "HoodieMetadataColumnStats",
    _optional("fileName", _TEXT),
    _optional("columnName", _TEXT),
    {"name": "minValue", "type": ["null", *_WRAPPERS], "default": None},
    {"name": "maxValue", "type": ["null", *_WRAPPED], "default": None},
    _optional("valueCount", "long"),
    _optional("nullCount", "long"),
    _optional("totalSize", "long"),
    _optional("totalUncompressedSize", "long"),
    _field("isDeleted", "boolean"),
)
_RECORD_INDEX = _record(
    "HoodieRecordIndexInfo",
    _optional("partitionName", _TEXT),
    _optional("fileIdHighBits", "long"),
    _optional("fileIdLowBits", "long"),
    _optional("fileIndex", "int"),
    _optional("fileId", _TEXT),
    _optional("instantTime", "long"),
    {"name": "fileIdEncoding", "type": "int", "default": 0},
)
RECORD: dict[str, Any] = {
    "type": "record",
    "name": "HoodieMetadataRecord",
    "namespace": "org.apache.hudi.avro.model",
    "fields": [
        _field("key", _TEXT),
        _field("type", "int"),
        _field(
            "filesystemMetadata", ["null", {"type": "map", "values": _FILE_INFO, "avro.java.string": "String"}]
        ),  # the only one of these without a default
        _optional("BloomFilterMetadata", _BLOOM_FILTER),
        _optional("ColumnStatsMetadata", _COLUMN_STATS),
        _optional("recordIndexMetadata", _RECORD_INDEX),
    ],
}
RECORD_TEXT = schema_text(RECORD)
"""As it stands in commit metadata."""

STORED_TEXT = schema_text(with_meta_fields(RECORD))
"""As it stands in HFiles and log blocks: the five meta columns come first."""

STORED = fastavro.parse_schema(with_meta_fields(RECORD))
