"""Hudi goes on with a metadata table that we made, and we with Hudi's: nobody builds it anew, nobody misses a file.

Hudi runs at its defaults. Both of its own listings, by the metadata table and by the storage, are the judges.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.v6.file_names import parse_base_file_name
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS
from spark_jobs.core.metadata_table.footer_stats import read_footer_stats
from spark_jobs.core.metadata_table.keys import column_stats_key
from spark_jobs.core.metadata_table.scan import read_records
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.services.metadata import maintain_metadata_table
from tests.faults import local_table as local
from tests.interop.real_hudi import RealHudi
from tests.support.deaths import in_another_process
from tests.unit.core.metadata_table.agreement import disagreements, listed_files, metadata_table_of

COMPACT_AFTER = "hoodie.metadata.compact.max.delta.commits"


@dataclass(kw_only=True)
class Shared:
    """One table, whoever writes it; ``known`` are the instants of its metadata table that must never go."""

    path: Path
    table_type: str
    hudi: RealHudi
    batches: list[pa.Table] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    @property
    def is_mor(self) -> bool:
        return self.table_type == "MERGE_ON_READ"

    def by_us(self, rows: pa.Table) -> None:
        local.write(self.path, rows, f"k{len(self.batches)}")
        self.batches.append(rows)
        self.check("after our upsert")

    def by_hudi(self, rows: pa.Table, options: Mapping[str, str] | None = None, *, rolls_back: bool = False) -> None:
        """
        :param rolls_back: the write undoes another one first. Its rollback is younger than itself, and Hudi's reader
            ends a log at a block of an instant that is younger than the newest commit: it misses its own rows.
        """
        given = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.datasource.write.precombine.field": "ts",
            **(options or {}),
        }
        self.hudi.write(self.path, rows, "upsert", given)
        self.batches.append(rows)
        self.check("after Hudi's upsert", hudi_rows=not (rolls_back and self.is_mor))

    def maintain(self, after: int) -> None:
        told: list[str] = []
        settings = HudiTable.open(str(self.path)).transaction_settings(local.AT_ONCE)
        maintain_metadata_table(settings, {**local.AT_ONCE, COMPACT_AFTER: str(after)}, told.append)
        assert told == []
        self.check("after our upkeep of the metadata table")

    def same_statistics(self) -> None:
        """Hudi's look-up of each column in each base file, ours, and the footers'."""
        table = metadata_table_of(self.path)
        ours = read_records(table, MetadataPartition.COLUMN_STATS, COLUMN_STATS)
        for column in ("id", "p", "v", "ts"):
            hudis = self.hudi.column_stats(self.path, column)
            compared = 0
            for partition, names in listed_files(self.path).items():
                for name in names:
                    if parse_base_file_name(name) is None:
                        continue
                    (footer,) = read_footer_stats(table.storage, f"{self.path}/{partition}/{name}", [column])
                    assert ours[column_stats_key(column, partition, name)] == footer
                    assert footer.low is not None
                    assert footer.high is not None
                    found = hudis[f"{partition}/{name}"]
                    assert found == [footer.low.value, footer.high.value, footer.nulls, footer.values]
                    compared += 1
            assert compared

    def check(self, when: str, *, hudi_rows: bool = True) -> None:
        """Both readers' rows, both listings of Hudi, and our own; and that the metadata table is still the same one."""
        expected = local.expected_rows(*self.batches)
        assert local.rows_of(self.path) == expected, when
        if hudi_rows:
            found = self.hudi.read(self.path, options={"hoodie.metadata.enable": "true"})
            names = ["_hoodie_record_key", "_hoodie_partition_path", *local.SCHEMA.names]
            rows = zip(*(found.column(name).to_pylist() for name in names), strict=True)
            assert sorted(rows) == expected, f"Hudi, {when}"
        by_metadata, by_storage = (self.hudi.files(self.path, metadata=each) for each in (True, False))
        assert {key: set(names) for key, names in by_metadata.items()} == {
            key: set(names) for key, names in by_storage.items()
        }, when
        longer = {name for key, names in by_metadata.items() for name in names if names[name] > by_storage[key][name]}
        assert not longer, when
        assert not disagreements(self.path), when
        timeline = metadata_table_of(self.path).timeline
        now = {one.timestamp for one in timeline.instants if one.is_completed}
        assert self.known <= now, f"the metadata table was made anew {when}"
        self.known = {one for one in now if one.startswith("0" * 14)} | now
        assert "00000000000000010" in self.known, when


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def shared(
    request: pytest.FixtureRequest, tmp_path: Path, real_hudi: RealHudi, monkeypatch: pytest.MonkeyPatch
) -> Shared:
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "true")
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
    return Shared(path=path, table_type=request.param, hudi=real_hudi)


def test_hudi_goes_on_with_ours(shared: Shared) -> None:
    """All of our actions, then Hudi's write, then compactions of the metadata table by both on top of each other."""
    shared.by_us(local.batch(0, 20, "one", 1))
    shared.by_us(local.batch(0, 10, "two", 2))
    if shared.is_mor:
        local.compact(shared.path)
    else:
        local.cluster(shared.path)
    shared.check("after our compaction or clustering")
    local.clean(shared.path)
    shared.check("after our clean")
    shared.by_hudi(local.batch(4, 10, "three", 3))
    shared.by_us(local.batch(2, 10, "four", 4))
    shared.maintain(after=4)
    assert len(metadata_table_of(shared.path).timeline.completed(Action.COMMIT)) == 1
    shared.by_us(local.batch(1, 10, "five", 5))
    shared.by_hudi(local.batch(12, 12, "six", 6), {COMPACT_AFTER: "2"})
    shared.by_hudi(local.batch(3, 4, "seven", 7), {COMPACT_AFTER: "2"})
    assert len(metadata_table_of(shared.path).timeline.completed(Action.COMMIT)) > 1
    shared.by_us(local.batch(0, 6, "eight", 8))
    shared.maintain(after=1)
    shared.by_hudi(local.batch(6, 6, "nine", 9))


def test_hudi_goes_on_where_we_died(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the delta commit of the metadata table and the commit itself; and before either. Then the other way."""
    shared.by_us(local.batch(0, 20, "one", 1))
    local.die_writing(shared.path, local.batch(4, 10, "lost", 2))
    shared.by_hudi(local.batch(4, 6, "three", 3), rolls_back=True)

    def die(*_: object) -> None:
        os._exit(0)

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "_complete", die)
        assert in_another_process(lambda: local.write(shared.path, local.batch(2, 10, "lost", 4), "lost")) == 0
    (left,) = (one for one in HudiTable.open(str(shared.path)).timeline.instants if not one.is_completed)
    assert left.timestamp in {one.timestamp for one in metadata_table_of(shared.path).timeline.completed_commits()}
    shared.by_hudi(local.batch(2, 10, "five", 5), rolls_back=True)
    timeline = metadata_table_of(shared.path).timeline
    assert left.timestamp not in {one.timestamp for one in timeline.completed_commits()}
    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "_complete", die)
        assert in_another_process(lambda: local.write(shared.path, local.batch(2, 10, "lost", 6), "lost again")) == 0
    local.roll_back(shared.path)
    shared.check("after our rollback", hudi_rows=not shared.is_mor)  # what Hudi's write missed, it misses still
    shared.by_hudi(local.batch(2, 10, "seven", 7))
    shared.by_us(local.batch(5, 10, "eight", 8))


def test_we_go_on_with_hudis(tmp_path: Path, real_hudi: RealHudi, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that Hudi made: its metadata table is kept, and only what we don't keep is taken off it."""
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "true")
    shared = Shared(path=tmp_path / "t", table_type="MERGE_ON_READ", hudi=real_hudi)
    indexes = {
        "hoodie.metadata.index.column.stats.enable": "true",
        "hoodie.metadata.index.bloom.filter.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
    }
    shared.by_hudi(local.batch(0, 20, "one", 1), indexes)
    shared.by_hudi(local.batch(0, 10, "two", 2), indexes)
    assert len(HudiTable.open(str(shared.path)).config.metadata_partitions) == 4
    shared.by_us(local.batch(5, 10, "three", 3))
    assert HudiTable.open(str(shared.path)).config.metadata_partitions == ("files",)
    local.compact(shared.path)
    shared.check("after our compaction")
    shared.by_hudi(local.batch(4, 10, "four", 4))


def test_hudi_uses_our_column_statistics(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks up every record of ours, and keeps the partition up to date after its own writes."""
    flag = {"hoodie.metadata.index.column.stats.enable": "true"}
    for name, value in flag.items():
        monkeypatch.setitem(local.AT_ONCE, name, value)
    shared.by_us(local.batch(0, 20, "one", 1))
    shared.by_us(local.batch(0, 10, "two", 2))
    shared.same_statistics()
    shared.maintain(after=2)
    shared.same_statistics()
    shared.by_hudi(local.batch(4, 10, "three", 3), flag)
    shared.same_statistics()
    shared.by_us(local.batch(40, 10, "four", 4))
    local.clean(shared.path)
    shared.check("after our clean")
    shared.by_hudi(local.batch(2, 4, "five", 5), {**flag, COMPACT_AFTER: "1"})
    shared.by_hudi(local.batch(60, 4, "six", 6), {**flag, COMPACT_AFTER: "1"})
    shared.same_statistics()
    assert HudiTable.open(str(shared.path)).config.metadata_partitions == ("column_stats", "files")
