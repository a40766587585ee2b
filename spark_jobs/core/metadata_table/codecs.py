"""The codec of each partition that this project keeps up to date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.bloom_filters import BLOOM_FILTERS
from spark_jobs.core.metadata_table.codec import Codec
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS
from spark_jobs.core.metadata_table.records import FILES

CODECS: Mapping[MetadataPartition, Codec[Any]] = {
    MetadataPartition.FILES: FILES,
    MetadataPartition.COLUMN_STATS: COLUMN_STATS,
    MetadataPartition.BLOOM_FILTERS: BLOOM_FILTERS,
}
