"""What the metadata table knows of keys: their ranges by file, and bloom filters (Hudi: HoodieBloomIndex)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import StorageError
from spark_jobs.core.files.bloom import BloomFilter
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.index.ranges import KeyRange
from spark_jobs.core.metadata_table.bloom_filters import BLOOM_FILTERS
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS
from spark_jobs.core.metadata_table.keys import bloom_filter_key, column_stats_key
from spark_jobs.core.metadata_table.scan import read_records
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.view.file_slice import BaseFile, FileSlice


@dataclass(frozen=True, slots=True)
class IndexesOfMetadata:
    """``stats`` and ``filters`` are the metadata table where it has column statistics, or bloom filters; pickles."""

    stats: MetadataTable | None = None
    filters: MetadataTable | None = None

    @staticmethod
    def of(
        storage: Storage, base_path: str, config: TableConfig, timeline: ActiveTimeline, clock: Clock
    ) -> IndexesOfMetadata:
        """What a table has; nothing where its metadata table is not readable."""
        if not config.metadata_partitions:
            return IndexesOfMetadata()
        try:
            opened = MetadataTable.open(storage, base_path, timeline, clock)
        except StorageError:
            return IndexesOfMetadata()
        return IndexesOfMetadata(
            opened if config.lists(MetadataPartition.COLUMN_STATS) else None,
            opened if config.lists(MetadataPartition.BLOOM_FILTERS) else None,
        )

    def key_ranges(self, slices: Mapping[int, FileSlice]) -> dict[int, KeyRange]:
        """The range of keys of base files, of those that have statistics of the key column."""
        if self.stats is None:
            return {}
        keys = {
            column_stats_key(RECORD_KEY, one.partition, str(one.base_file.name)): number
            for number, one in slices.items()
            if one.base_file is not None
        }
        found: dict[int, KeyRange] = {}
        for key, stats in read_records(self.stats, MetadataPartition.COLUMN_STATS, COLUMN_STATS, list(keys)).items():
            low, high = stats.low, stats.high
            if stats.is_deleted or low is None or high is None:
                continue
            if isinstance(low.value, str) and isinstance(high.value, str):
                found[keys[key]] = KeyRange(keys[key], low.value, high.value)
        return found

    def bloom_filter(self, base: BaseFile) -> BloomFilter | None:
        """The filter of a base file, where the metadata table has it."""
        if self.filters is None:
            return None
        key = bloom_filter_key(base.partition, str(base.name))
        stored = read_records(self.filters, MetadataPartition.BLOOM_FILTERS, BLOOM_FILTERS, [key]).get(key)
        if stored is None or stored.is_deleted or not stored.text:
            return None
        return BloomFilter.from_base64(stored.text, stored.kind)
