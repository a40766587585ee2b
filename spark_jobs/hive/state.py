"""What a metastore holds about a table, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column or partition key: ``type`` is Hive's text for it (``array<int>``), lower case."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """A ``CLUSTERED BY (columns) INTO count BUCKETS`` clause."""

    columns: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetastoreTable:
    """One table: its columns without partition keys, formats, SerDe and parameters."""

    name: str
    location: str
    columns: tuple[Column, ...]
    partition_keys: tuple[Column, ...] = ()
    input_format: str
    output_format: str
    serde: str
    serde_parameters: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    managed: bool = False
    buckets: Buckets | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetastorePartition:
    """One partition: its values in the order of the partition keys, and where its files are (a path or a URL)."""

    values: tuple[str, ...]
    location: str
