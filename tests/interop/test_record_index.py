"""Hudi and we keep one record index in turn: no key in two file groups, none lost, and nobody makes it anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.table import HudiTable
from spark_jobs.options.indexing import IndexingMode
from spark_jobs.options.result import JobState
from tests.faults import local_table as local
from tests.interop.real_hudi import RealHudi
from tests.support.indexing import run as index_job
from tests.support.record_index import delete, index_of, maintain, places_by_index, places_of_rows
from tests.unit.core.metadata_table.agreement import disagreements

INDEX = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.record.index.max.filegroup.count": "2",
}
COMPACT_AFTER = "hoodie.metadata.compact.max.delta.commits"


@dataclass(kw_only=True)
class Indexed:
    """One table, whoever writes it; ``rows`` are those that it should have by ``id``, ``made`` the index's metafile."""

    path: Path
    table_type: str
    hudi: RealHudi
    rows: dict[int, dict[str, object]] = field(default_factory=dict)
    made: str = ""

    def by_us(self, rows: pa.Table, when: str) -> None:
        local.write(self.path, rows, when)
        self.put(rows)
        self.check(when)

    def deleted_by_us(self, first: int, count: int, when: str) -> None:
        delete(self.path, first, count, when)
        self._take(first, count)
        self.check(when)

    def by_hudi(self, rows: pa.Table, when: str, options: Mapping[str, str] | None = None) -> None:
        self.hudi.write(self.path, rows, "upsert", self.options(options))
        self.put(rows)
        self.check(when)

    def deleted_by_hudi(self, first: int, count: int, when: str) -> None:
        self.hudi.write(self.path, local.batch(first, count, "", 0), "delete", self.options(None))
        self._take(first, count)
        self.check(when)

    def check(self, when: str) -> None:
        expected = sorted((str(one["id"]), str(one["p"]), *one.values()) for one in self.rows.values())
        assert local.rows_of(self.path) == expected, when
        found = self.hudi.read(self.path, options={"hoodie.metadata.enable": "true"})
        names = ["_hoodie_record_key", "_hoodie_partition_path", *local.SCHEMA.names]
        assert sorted(zip(*(found.column(name).to_pylist() for name in names), strict=True)) == expected, when
        assert HudiTable.open(str(self.path)).config.metadata_partitions == ("files", "record_index"), when
        assert places_by_index(self.path) == places_of_rows(self.path), when
        assert not disagreements(self.path), when
        metafile = (self.path / ".hoodie/metadata/record_index/.hoodie_partition_metadata").read_text()
        self.made = self.made or metafile
        assert metafile == self.made, f"the index was made anew: {when}"

    def options(self, options: Mapping[str, str] | None) -> dict[str, str]:
        return {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.index.type": "RECORD_INDEX",
            **INDEX,
            **(options or {}),
        }

    def put(self, rows: pa.Table) -> None:
        self.rows.update({row["id"]: row for row in rows.to_pylist()})

    def _take(self, first: int, count: int) -> None:
        for one in range(first, first + count):
            self.rows.pop(one, None)


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def indexed(
    request: pytest.FixtureRequest, tmp_path: Path, real_hudi: RealHudi, monkeypatch: pytest.MonkeyPatch
) -> Indexed:
    """An empty table whose jobs keep a record index."""
    for key, value in {"hoodie.metadata.enable": "true", **INDEX}.items():
        monkeypatch.setitem(local.AT_ONCE, key, value)
    path = tmp_path / "t"
    HudiTable.create(
        str(path),
        name="t",
        table_type=request.param,
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        key_generator_class="org.apache.hudi.keygen.SimpleKeyGenerator",
    )
    return Indexed(path=path, table_type=request.param, hudi=real_hudi)


def test_in_turn(indexed: Indexed) -> None:
    """Upserts, deletes, table services and compactions of the metadata table, by both sides."""
    path = indexed.path
    indexed.by_us(local.batch(0, 20, "one", 1), "our first upsert")
    indexed.by_hudi(local.batch(10, 20, "two", 2), "Hudi's upsert of known and new keys")
    indexed.by_us(local.batch(20, 10, "three", 3), "our upsert of Hudi's keys")
    indexed.deleted_by_hudi(4, 4, "Hudi's delete")
    indexed.deleted_by_us(12, 4, "our delete")
    indexed.by_hudi(local.batch(2, 12, "four", 4), "Hudi's upsert of deleted keys")
    maintain(path, 2)
    indexed.check("our compaction of the metadata table")
    if indexed.table_type == "MERGE_ON_READ":
        local.compact(path)
    else:
        local.cluster(path)
    indexed.check("our rewrite")
    indexed.by_hudi(local.batch(28, 8, "five", 5), "Hudi's upsert with a compaction of it", {COMPACT_AFTER: "2"})
    indexed.by_us(local.batch(28, 8, "six", 6), "our upsert after Hudi's compaction of it")
    indexed.hudi.cluster(path, options=INDEX)
    indexed.check("Hudi's clustering")
    indexed.by_us(local.batch(40, 6, "seven", 7), "our upsert after Hudi's clustering")
    indexed.by_hudi(local.batch(36, 10, "eight", 8), "Hudi's upsert of our keys")


def test_hudi_makes_the_same(indexed: Indexed) -> None:
    """What Hudi finds when it makes the index of a table, and what we find; and we go on with Hudi's."""
    path = indexed.path
    indexed.by_us(local.batch(0, 20, "one", 1), "our first upsert")
    indexed.by_us(local.batch(0, 8, "two", 2), "our second upsert")
    indexed.deleted_by_us(12, 4, "our delete")
    off = indexed.options({"hoodie.metadata.record.index.enable": "false", "hoodie.index.type": "SIMPLE"})
    indexed.hudi.write(path, local.batch(18, 2, "three", 3), "upsert", off)
    indexed.put(local.batch(18, 2, "three", 3))
    table = HudiTable.open(str(path))
    assert table.config.metadata_partitions == ("files",)
    begun = {one.file_id: one.base_instant for one in table.file_slices()}
    expected = {key: (partition, file_id, begun[file_id]) for key, partition, file_id in places_of_rows(path)}
    indexed.made = ""
    indexed.by_hudi(local.batch(18, 4, "four", 4), "Hudi makes the index")
    made = {one["key"]: tuple(one.values())[1:] for one in index_of(path).read_all().to_pylist()}
    assert len(expected) == 16
    assert {key: made[key] for key in expected} == expected
    indexed.by_us(local.batch(16, 8, "five", 5), "our upsert on Hudi's index")
    indexed.deleted_by_us(16, 2, "our delete on Hudi's index")
    indexed.deleted_by_hudi(18, 2, "Hudi's delete")


CONCURRENT = {
    "hoodie.metadata.index.async": "true",
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
}
"""What Hudi's indexing asks for."""


def test_indexing_by_either(indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan of Hudi carried out by us, then one of ours by Hudi; both go on with either's index."""
    path = indexed.path
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.index.async", "true")
    first, second = local.batch(0, 20, "one", 1), local.batch(10, 10, "two", 2)
    for number, rows in enumerate((first, second)):
        local.write(path, rows, f"k{number}")
        indexed.put(rows)
    assert HudiTable.open(str(path)).config.metadata_partitions == ("files",)
    options = indexed.options(CONCURRENT)
    planned = indexed.hudi.schedule_index(path, ["RECORD_INDEX"], options)
    assert index_job(path, IndexingMode.EXECUTE, ()).instant == planned
    indexed.check("our execution of Hudi's plan")
    indexed.by_hudi(local.batch(16, 10, "three", 3), "Hudi's upsert on the index of our job")
    indexed.by_us(local.batch(20, 10, "four", 4), "our upsert on the index of our job")
    assert index_job(path, IndexingMode.DROP_INDEX, ("RECORD_INDEX",)).state is JobState.COMPLETED
    indexed.made = ""
    scheduled = index_job(path, IndexingMode.SCHEDULE, ("RECORD_INDEX",))
    assert scheduled.instant is not None
    indexed.hudi.index(path, scheduled.instant, options)
    indexed.check("Hudi's execution of our plan")
    indexed.by_us(local.batch(24, 10, "five", 5), "our upsert on the index of Hudi's job")
    indexed.by_hudi(local.batch(28, 10, "six", 6), "Hudi's upsert on its own index")
