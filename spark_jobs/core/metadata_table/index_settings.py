"""Which indexes a job keeps in the metadata table, by its ``hoodie.metadata.*`` keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.config.keys import bootstrap as bootstrap_keys
from spark_jobs.core.config.keys import index as index_keys
from spark_jobs.core.config.keys import metadata as metadata_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.record_index import RecordIndexSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """Which indexes to keep: the number of file groups of a new one, 0 for none.

    ``columns`` are those with statistics, none meaning all at the top of the schema.
    """

    column_stats_groups: int = 0
    columns: tuple[str, ...] = ()
    bloom_filter_groups: int = 0
    record_index: RecordIndexSettings | None = None
    made_by_jobs: bool = False
    """Whether new ones are left to the indexing job."""

    @property
    def kept_partitions(self) -> frozenset[MetadataPartition]:
        asked = {
            MetadataPartition.FILES: 1,
            MetadataPartition.COLUMN_STATS: self.column_stats_groups,
            MetadataPartition.BLOOM_FILTERS: self.bloom_filter_groups,
            MetadataPartition.RECORD_INDEX: self.record_index is not None,
        }
        return frozenset(partition for partition, groups in asked.items() if groups)


def refuse_record_index_of(config: TableConfig, properties: Mapping[str, str]) -> None:
    """
    :raises ConfigError: a record index is asked for, and the table stores no record keys; or its writes put new records
        into logs unlooked, so that the index would miss them; or it was bootstrapped, by instants that the index can't
        keep, since it keeps moments.
    """
    if not metadata_keys.RECORD_INDEX.of(properties):
        return
    why = ""
    if not table_keys.POPULATE_META_FIELDS.of(config.properties):
        why = "has virtual keys, and a record index needs stored ones"
    elif config.is_merge_on_read and index_keys.INDEX_TYPE.of(properties).places_by_key:
        why = "takes new records into logs by its bucket index, which a record index would miss"
    elif bootstrap_keys.BOOTSTRAP_BASE_PATH.of(config.properties):
        why = "was bootstrapped, by an instant that is no moment, and a record index keeps moments"
    if why:
        raise ConfigError(
            f"table {config.name} {why}", todo=f"leave {metadata_keys.RECORD_INDEX.name} off", table=config.name
        )


def index_settings_of(properties: Mapping[str, str]) -> IndexSettings:
    """The indexes that a job's ``hoodie.metadata.*`` keys ask for."""
    stats = metadata_keys.METADATA_COLUMN_STATS.of(properties)
    filters = metadata_keys.METADATA_BLOOM_FILTERS.of(properties)
    records = RecordIndexSettings(
        min_groups=metadata_keys.RECORD_INDEX_MIN_GROUPS.of(properties),
        max_groups=metadata_keys.RECORD_INDEX_MAX_GROUPS.of(properties),
        growth=metadata_keys.RECORD_INDEX_GROWTH.of(properties),
        group_bytes=metadata_keys.RECORD_INDEX_GROUP_BYTES.of(properties),
    )
    return IndexSettings(
        column_stats_groups=metadata_keys.METADATA_COLUMN_STATS_GROUPS.of(properties) if stats else 0,
        columns=metadata_keys.METADATA_COLUMN_STATS_COLUMNS.of(properties),
        bloom_filter_groups=metadata_keys.METADATA_BLOOM_FILTER_GROUPS.of(properties) if filters else 0,
        record_index=records if metadata_keys.RECORD_INDEX.of(properties) else None,
        made_by_jobs=metadata_keys.ASYNC_INDEX.of(properties),
    )
