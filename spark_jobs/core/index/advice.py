"""Which index fits a table and a batch, by what each would have to read to find the batch's keys; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.config.keys.index import IndexType

SHOWN_FILES = 100
_MUCH = 16 << 20
"""Bytes of look-up from which another index for the whole table is worth a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """What one index reads to find the keys: ``files`` by their paths, ``size`` in bytes of what is read of them.

    ``refused`` says why the index can't be used here; empty where it can.
    """

    kind: IndexType
    files: tuple[str, ...] = ()
    size: int = 0
    refused: str = ""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"index": self.kind.value, "possible": not self.refused}
        if self.refused:
            return {**shown, "reason": self.refused}
        return {
            **shown,
            "files": len(self.files),
            "bytes": self.size,
            "opens": list(self.files[:SHOWN_FILES]),
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of the table and the batch.

    ``overlap`` is the mean part of the files in the touched partitions that a key can be in by their ranges;
    ``sampled`` the number of keys that were looked at, all of them where it is ``records``. ``buckets`` is how many
    buckets the batch touches; ``bucketed`` whether every file group of the table is one of a bucket.
    """

    records: int
    sampled: int
    partitions_touched: int
    partitions: int
    files: int
    bytes: int
    files_touched: int
    bytes_touched: int
    log_bytes: int
    overlap: float
    buckets: int
    bucketed: bool
    record_index: bool

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Advice:
    """The index to use and why, sentence by sentence."""

    kind: IndexType
    reasons: tuple[str, ...]


def advise(facts: Facts, asked: IndexType, look_ups: Sequence[LookUp]) -> Advice:
    """The index of the asked one's scope (a key is one record in the table, or in its partition) that reads least.

    A bucketed table has to be written by buckets: what another index adds is in none of them.
    """
    if facts.bucketed:
        reason = "every file group of the table is a bucket, and a writer by buckets refuses a table with others"
        return Advice(IndexType.BUCKET, (reason, _bucket_line(facts)))
    if not facts.files:
        return Advice(asked, ("the table has no files yet: nothing is looked up", _new_table_line(asked)))
    fitting = [one for one in look_ups if one.kind.is_global == asked.is_global and not one.refused]
    best = min(fitting, key=lambda one: (one.size, one.kind is not asked, len(one.files)), default=None)
    if best is None:
        return Advice(asked, ("no other index of its scope can be used here",))
    reasons = [_reads_line(best)]
    present = next((one for one in fitting if one.kind is asked), None)
    if present is not None and present.kind is not best.kind:
        reasons.append(f"{present.kind} would read {_size(present.size)} of {len(present.files)} files")
    reasons.append(_ranges_line(facts))
    if best.size >= _MUCH and not facts.record_index:
        reasons.append(
            "a record index (hoodie.metadata.record.index.enable) keeps the look-up the same however large the table "
            "grows; it makes a key one record in the whole table"
        )
    return Advice(best.kind, tuple(reasons))


def _reads_line(one: LookUp) -> str:
    return f"{one.kind} reads least to find the keys: {_size(one.size)} of {len(one.files)} files"


def _bucket_line(facts: Facts) -> str:
    return f"nothing is looked up: the keys' hashes name {facts.buckets} file groups"


def _new_table_line(asked: IndexType) -> str:
    if asked is IndexType.BUCKET:
        return "all later writers have to give the same number of buckets"
    return "for a table of many small updates all over, BUCKET from the first write on needs no look-up"


def _ranges_line(facts: Facts) -> str:
    part = f"by key ranges a key can be in {facts.overlap:.0%} of {facts.files_touched} files on average"
    if facts.overlap <= 0.5:
        return part + ": ranges leave most of them out"
    return part + ": the keys are not sorted over the files, and ranges leave few of them out"


def _size(count: int) -> str:
    for unit, width in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= width:
            return f"{count / width:.1f} {unit}"
    return f"{count} bytes"


def as_text(facts: Facts, asked: IndexType, advice: Advice, look_ups: Sequence[LookUp]) -> list[str]:
    """The same for a reader, line by line."""
    keys = "all keys" if facts.sampled == facts.records else f"a sample of {facts.sampled} keys"
    lines = [
        f"{facts.records} records for {facts.partitions_touched} of {facts.partitions} partitions ({keys} looked at)",
        f"the table has {facts.files} base files of {_size(facts.bytes)} and {_size(facts.log_bytes)} of logs; "
        f"{facts.files_touched} files of {_size(facts.bytes_touched)} are in the touched partitions",
    ]
    for one in look_ups:
        mark = "*" if one.kind is advice.kind else " "
        shown = one.refused or f"{len(one.files)} files, {_size(one.size)}{'; ' + one.note if one.note else ''}"
        lines.append(f"{mark} {one.kind.value:<13} {shown}")
    chosen = "which is set" if advice.kind is asked else f"hoodie.index.type is {asked}"
    lines.append(f"use {advice.kind} ({chosen}): " + "; ".join(advice.reasons))
    return lines
