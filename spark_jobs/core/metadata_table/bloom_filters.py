"""Bloom filters of base files, as the metadata table holds them (Hudi: HoodieMetadataBloomFilter)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.base_file import BLOOM_FOOTER, BLOOM_TYPE_FOOTER, LEGACY_BLOOM_FOOTER, open_base_file
from spark_jobs.core.files.bloom import SIMPLE
from spark_jobs.core.metadata_table.codec import Codec
from spark_jobs.core.storage import Storage

BLOOM_FILTER_TYPE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBloomFilter:
    """``text`` is the filter in Base64, as it stands in the footer; ``instant`` wrote the record. A deleted one is a
    tombstone without kind and text.
    """

    kind: str
    instant: str
    text: bytes
    is_deleted: bool = False


def bloom_tombstone(instant: str) -> StoredBloomFilter:
    """For a file that is gone."""
    return StoredBloomFilter(kind="", instant=instant, text=b"", is_deleted=True)


def read_footer_filter(storage: Storage, path: str, instant: str) -> StoredBloomFilter | None:
    """The filter in the footer of a base file; None where it has none.

    :raises CorruptTableError: the file is no Parquet file.
    """
    file = open_base_file(storage, path)
    footer: Mapping[bytes, bytes] = file.metadata.metadata or {}
    file.close(force=True)
    text = footer.get(BLOOM_FOOTER.encode()) or footer.get(LEGACY_BLOOM_FOOTER.encode())
    if text is None:
        return None
    kind = footer.get(BLOOM_TYPE_FOOTER.encode(), SIMPLE.encode()).decode("utf-8", "replace")
    return StoredBloomFilter(kind=kind, instant=instant, text=text)


def _to_avro(_: str, one: StoredBloomFilter) -> Mapping[str, Any]:
    return {
        "type": BLOOM_FILTER_TYPE,
        "BloomFilterMetadata": {
            "type": one.kind,
            "timestamp": one.instant,
            "bloomFilter": one.text,
            "isDeleted": one.is_deleted,
        },
    }


def _from_avro(record: Mapping[str, Any], where: str) -> StoredBloomFilter:
    raw = record.get("BloomFilterMetadata")
    if record.get("type") != BLOOM_FILTER_TYPE or not isinstance(raw, Mapping):
        raise CorruptTableError(f"{where} has a record of type {record.get('type')} among bloom filters", where=where)
    return StoredBloomFilter(
        kind=str(raw["type"]),
        instant=str(raw["timestamp"]),
        text=bytes(raw["bloomFilter"]),
        is_deleted=bool(raw["isDeleted"]),
    )


BLOOM_FILTERS: Codec[StoredBloomFilter] = Codec(_to_avro, _from_avro, lambda older, newer: newer)
