"""The steps of the lineitem benchmark: which table each begins with, and what it does to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SIMPLE: Mapping[str, str] = MappingProxyType({"hoodie.index.type": "SIMPLE"})
BLOOM: Mapping[str, str] = MappingProxyType({"hoodie.index.type": "BLOOM"})
BUCKET: Mapping[str, str] = MappingProxyType(
    {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "7"}  # as many file groups as the others have
)
RECORD_INDEX: Mapping[str, str] = MappingProxyType(
    {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.record.index.enable": "true"}
)


class Do(Enum):
    """What a step calls."""

    WRITE = auto()
    COMPACT = auto()
    CLUSTER = auto()
    ROLL_BACK = auto()


class Rows(Enum):
    """The source of a write: all base rows; 10% of them changed and 2% new, over all partitions; or a tenth of the rows
    of the smallest partition, changed.
    """

    BASE = auto()
    CHANGES = auto()
    ONE_PARTITION = auto()


@dataclass(frozen=True, slots=True)
class Start:
    """A table with the base rows, that a step gets a copy of; with ``changed`` the changes were upserted too."""

    table_type: str
    options: Mapping[str, str]
    changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """``target`` is the ratio to Hudi's time to stay below; a step without a ``start`` begins with no table."""

    name: str
    target: float | None
    do: Do = Do.WRITE
    operation: str = "upsert"
    rows: Rows = Rows.CHANGES
    table_type: str = COW
    options: Mapping[str, str] = field(default_factory=dict)
    start: Start | None = None
    limit: bool = False
    """Whether pyarrow rewriting the touched files is measured beside it."""


_COW, _MOR = Start(COW, SIMPLE), Start(MOR, SIMPLE)
STEPS: tuple[Step, ...] = (
    Step(name="bulk_insert", target=0.5, operation="bulk_insert", rows=Rows.BASE, options=SIMPLE),
    Step(name="insert", target=0.4, operation="insert", rows=Rows.BASE, options=SIMPLE),
    Step(name="upsert COW", target=0.25, options=SIMPLE, start=_COW, limit=True),
    Step(name="upsert COW bloom", target=None, options=BLOOM, start=_COW),
    Step(name="upsert COW bucket", target=0.4, options=BUCKET, start=Start(COW, BUCKET)),
    Step(name="upsert COW record index", target=0.3, options=RECORD_INDEX, start=Start(COW, RECORD_INDEX)),
    Step(name="upsert COW one partition", target=0.6, rows=Rows.ONE_PARTITION, options=SIMPLE, start=_COW),
    Step(name="upsert MOR", target=0.5, table_type=MOR, options=SIMPLE, start=_MOR),
    Step(
        name="compaction",
        target=0.35,
        do=Do.COMPACT,
        table_type=MOR,
        start=Start(MOR, SIMPLE, changed=True),
        limit=True,
    ),
    Step(name="clustering", target=0.5, do=Do.CLUSTER, start=_COW),
    Step(name="rollback", target=0.3, do=Do.ROLL_BACK, start=Start(COW, SIMPLE, changed=True)),
)
PROCESS_TARGETS: Mapping[str, Mapping[str, float | None]] = MappingProxyType(
    {"bulk_insert": {"ours": 0.5}, "upsert COW": {"ours": 0.35, "local": 0.15}}
)
"""Whole processes, by step and side, in parts of Hudi's time."""
