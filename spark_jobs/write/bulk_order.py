"""The order in which a bulk insert writes the rows of a source, by arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from spark_jobs.core.config.keys import bulkinsert as bulkinsert_keys
from spark_jobs.core.config.keys.bulkinsert import SortMode
from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.merge.changes import dense_ranks
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.arrow_source import ArrowSource
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.source import RowRange, RowSource

_RANK, _ROW = "_pyhudi_rank", "_pyhudi_row"
_BY_PARTITION = (SortMode.PARTITION_PATH_REPARTITION, SortMode.PARTITION_PATH_REPARTITION_AND_SORT)
_BY_KEY = (SortMode.GLOBAL_SORT, SortMode.PARTITION_SORT)


def in_bulk_order(keyed: KeyedSource, config: WriteConfig) -> KeyedSource:
    """The rows as a bulk insert lays them out: one for each key where the input is combined, sorted as asked for
    (Hudi: BulkInsertSortMode).

    :raises ConfigError: a sort column that the data does not have.
    :raises BadRecordError: rows are combined, and one has no value in the precombine field.
    """
    source = keyed.source
    columns = bulkinsert_keys.SORT_COLUMNS.of(config.properties)
    unknown = next((name for name in columns if name not in source.schema.names), None)
    if unknown is not None:
        raise ConfigError(
            f"{bulkinsert_keys.SORT_COLUMNS.name} names {unknown}, which the source does not have",
            todo="its columns are " + ", ".join(source.schema.names),
            column=unknown,
        )
    order = _sorted_by(columns, bulkinsert_keys.SORT_MODE.of(config.properties), config)
    if not order and not config.combine:
        return keyed
    held = source if isinstance(source, ArrowSource) else _held(source)
    data = held.data
    keys = keyed.keys(RowRange(0, source.rows)).combine_chunks()
    keys = keys.append_column(_ROW, pa.array(np.arange(source.rows)))
    if config.combine:
        keys = _one_of_each_key(keys, data, config)
    if order:
        sorting = keys.set_column(keys.column_names.index(PARTITION_PATH), PARTITION_PATH, _texts(keys))
        for name in columns:
            sorting = sorting.append_column(name, data.column(name).take(keys.column(_ROW)))
        keys = sorting.sort_by([(name, "ascending") for name in (*order, _ROW)])
    return replace(keyed, source=replace(held, data=data.take(keys.column(_ROW))))


def _held(source: RowSource) -> ArrowSource:
    """All rows in memory."""
    batches = source.read(RowRange(0, source.rows))
    return ArrowSource(data=pa.Table.from_batches(batches, schema=source.schema), schema=source.schema)


def _sorted_by(columns: tuple[str, ...], mode: SortMode, config: WriteConfig) -> list[str]:
    if columns:
        return [PARTITION_PATH, *columns]
    if mode in _BY_KEY:
        return [PARTITION_PATH, RECORD_KEY]
    return [PARTITION_PATH] if mode in _BY_PARTITION and config.key_spec.parts else []


def _one_of_each_key(keys: pa.Table, data: pa.Table, config: WriteConfig) -> pa.Table:
    """Of the rows of one key, in one partition or in all, the one of the greatest ordering value; of equal ones the
    last.
    """
    rank = pa.array(np.zeros(keys.num_rows, np.int64))
    if config.precombine_field:
        ordering = data.column(config.precombine_field)
        if ordering.null_count:
            raise BadRecordError(
                f"{ordering.null_count} records have no value in the precombine field {config.precombine_field}",
                todo="fill it in the source or choose another field",
                column=config.precombine_field,
            )
        rank = pa.array(dense_ranks(ordering))
    ranked = keys.set_column(keys.column_names.index(PARTITION_PATH), PARTITION_PATH, _texts(keys))
    ranked = ranked.append_column(_RANK, rank).sort_by([(_RANK, "ascending"), (_ROW, "ascending")])
    places = [RECORD_KEY] if config.index_type.is_global else [PARTITION_PATH, RECORD_KEY]
    kept = ranked.group_by(places, use_threads=False).aggregate([(_ROW, "last")]).column(f"{_ROW}_last")
    return keys.take(pa.array(np.sort(np.asarray(kept))))


def _texts(keys: pa.Table) -> pa.ChunkedArray:
    return keys.column(PARTITION_PATH).cast(pa.string())
