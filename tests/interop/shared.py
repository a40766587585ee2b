"""A table that Hudi and we write in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.interop.flights import KEY, PARTITION, PRECOMBINE, Oracle, assert_same, by_key, flights
from tests.interop.hudi_rs import read_by_hudi_rs
from tests.interop.our_reader import read, slices
from tests.interop.ours import Ours
from tests.interop.real_hudi import RealHudi

SliceFiles = dict[str, list[tuple[str, str | None, tuple[str, ...]]]]
"""Partitions with slices, each slice as (file id, base file, log files)."""


@dataclass(kw_only=True)
class Shared:
    """One table, whoever writes it, and what it must hold."""

    path: Path
    table_type: str
    hudi: RealHudi
    ours: Ours
    rows: pa.Table = field(default_factory=flights)
    oracle: Oracle = field(default_factory=Oracle)

    @property
    def merge_on_read(self) -> bool:
        return self.table_type == "MERGE_ON_READ"

    @property
    def hudi_options(self) -> Mapping[str, str]:
        return {
            "hoodie.table.name": self.path.name,
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.datasource.write.recordkey.field": ",".join(KEY),
            "hoodie.datasource.write.partitionpath.field": PARTITION,
            "hoodie.datasource.write.precombine.field": PRECOMBINE,
        }

    def by_us(self, rows: pa.Table, operation: str) -> None:
        self.ours.write(self.path, rows, operation, table_type=self.table_type)
        self._expect(rows, operation)
        self.check(f"after our {operation}")

    def by_hudi(self, rows: pa.Table, operation: str) -> None:
        self.hudi.write(self.path, rows, operation, self.hudi_options)
        self._expect(rows, operation)
        self.check(f"after Hudi's {operation}")

    def check(self, when: str) -> None:
        """All rows of all readers, and the files that they come from.

        Read-optimized rows are compared between the readers: what they hold depends on which groups got log files.
        """
        assert_same(by_key(read(self.path)), self.oracle.rows, f"we, {when}")
        assert_same(by_key(self.hudi.read(self.path)), self.oracle.rows, f"Hudi, {when}")
        optimized = by_key(self.hudi.read(self.path, "read_optimized"))
        assert_same(by_key(read(self.path, "read_optimized")), optimized, f"we, read optimized, {when}")
        if not self.merge_on_read:
            assert_same(optimized, self.oracle.rows, f"Hudi, read optimized, {when}")
        assert_same(by_key(read_by_hudi_rs(self.path)), self.oracle.rows, f"hudi-rs, {when}")
        assert self.files(metadata=True) == self.files(metadata=False), f"Hudi's metadata table hides files {when}"
        assert self.files(metadata=True) == _file_names(slices(self.path)), f"we see other files {when}"

    def files(self, *, metadata: bool) -> SliceFiles:
        return _file_names(self.hudi.slices(self.path, metadata=metadata))

    def read_optimized_is_all(self, when: str) -> None:
        """After a compaction the base files alone hold every row."""
        assert_same(by_key(read(self.path, "read_optimized")), self.oracle.rows, f"we, read optimized, {when}")

    def _expect(self, rows: pa.Table, operation: str) -> None:
        if operation == "delete":
            self.oracle.delete(rows)
        else:
            self.oracle.upsert(rows)


def _file_names(found: dict[str, list[dict[str, Any]]]) -> SliceFiles:
    return {
        partition: [(one["file_id"], one["base"], tuple(one["logs"])) for one in listed]
        for partition, listed in sorted(found.items())
        if listed
    }
