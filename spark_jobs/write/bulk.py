"""Bulk inserts: records laid out by a sort mode, and written straight to new file groups.

Hudi: BulkInsertSortMode and its partitioners of rows, HoodieDatasetBulkInsertHelper.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.core.config.keys import bulkinsert as bulkinsert_keys
from spark_jobs.core.config.keys.bulkinsert import SortMode
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.engine.spark import SparkEngine, scan_tasks
from spark_jobs.engine.spark_task import task_scope
from spark_jobs.write.bad_record import bad_record
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.write import bulk_insert_rows
from spark_jobs.write.prepare import PreparedRows
from spark_jobs.write.tasks import MAX_OPEN_FILES, STAT_SCHEMA, RecordRules, as_batches, bulk_insert_batches

_RECORD = "_pyhudi_record"


def bulk_insert(
    spark: SparkSession, rows: PreparedRows, context: WriteContext, seed: str, direct: KeyedSource | None = None
) -> list[WriteStat]:
    """
    :param seed: a UUID, from which the tasks derive the ids of their file groups.
    :param direct: the source of ``rows`` where the tasks may read it themselves; they do unless rows are to be sorted.
    """
    config, rules = rows.config, RecordRules(combine=False, all_deleted=False)
    if direct is not None and takes_any_order(config):
        asked = bulkinsert_keys.BULK_INSERT_PARALLELISM.of(config.properties)
        scans = scan_tasks(spark, direct.source.sizes)
        tasks = min(asked, scans) if asked else scans
        return bulk_insert_rows(SparkEngine(spark), direct, tasks, context, seed, rules)
    most = 1 if _comes_by_partition(config) else MAX_OPEN_FILES

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return as_batches(bulk_insert_batches(batches, context, task_scope(), seed, rules, most))

    stats = laid_out(rows.keyed, config).mapInArrow(work, STAT_SCHEMA).collect()
    return [WriteStat.from_json(json.loads(row.stat), "a task of this write") for row in stats]


def laid_out(keyed: DataFrame, config: WriteConfig) -> DataFrame:
    """The records in the order in which they are written, in as many tasks as were asked for; where nobody asked, by
    the input, or by what is shuffled (Spark's adaptive execution).

    :raises ConfigError: a sort column that the table does not have.
    """
    mode, columns = bulkinsert_keys.SORT_MODE.of(config.properties), _sort_columns(keyed, config)
    tasks = bulkinsert_keys.BULK_INSERT_PARALLELISM.of(config.properties)
    rows = keyed
    if config.combine:
        rows = one_for_each_key(keyed, config.precombine_field, in_whole_table=config.index_type.is_global)
    if columns:
        return _at_most(rows.sort(PARTITION_PATH, *columns), tasks)
    if mode is SortMode.GLOBAL_SORT:
        return _at_most(rows.sort(PARTITION_PATH, RECORD_KEY), tasks)
    if mode is SortMode.PARTITION_SORT:
        return _at_most(rows, tasks).sortWithinPartitions(PARTITION_PATH, RECORD_KEY)
    if mode is SortMode.NONE or not config.key_spec.parts:
        return _at_most(rows, tasks)
    spread = rows.repartition(tasks, PARTITION_PATH) if tasks else rows.repartition(PARTITION_PATH)
    if mode is SortMode.PARTITION_PATH_REPARTITION:
        return spread
    return spread.sortWithinPartitions(PARTITION_PATH)


def one_for_each_key(keyed: DataFrame, ordering: str, *, in_whole_table: bool = False) -> DataFrame:
    """Of the records of one key, in one partition or in all, the one of the greatest ordering value, else any."""
    rank = F.lit(0)
    if ordering:
        missing = (
            f"a record has no value in the precombine field {ordering}: fill it in the source or choose another field"
        )
        rank = F.when(F.col(f"`{ordering}`").isNull(), bad_record(missing, "int")).otherwise(0)
    kept = F.max_by(F.struct("*"), F.struct(rank, F.col(f"`{ordering}`") if ordering else F.lit(0)))
    places = [] if in_whole_table else [F.col(PARTITION_PATH).alias("_pyhudi_p")]
    grouped = keyed.groupBy(*places, F.col(RECORD_KEY).alias("_pyhudi_k"))
    return grouped.agg(kept.alias(_RECORD)).select(f"{_RECORD}.*")


def _sort_columns(keyed: DataFrame, config: WriteConfig) -> list[str]:
    asked = bulkinsert_keys.SORT_COLUMNS.of(config.properties)
    unknown = [name for name in asked if name not in keyed.columns]
    if unknown:
        raise ConfigError(
            f"{bulkinsert_keys.SORT_COLUMNS.name} names {unknown[0]}, which the source does not have",
            todo="its columns are " + ", ".join(keyed.columns[2:]),
            column=unknown[0],
        )
    return [f"`{name}`" for name in asked]


def _comes_by_partition(config: WriteConfig) -> bool:
    """Whether a task gets all records of one partition path before those of the next."""
    mode = bulkinsert_keys.SORT_MODE.of(config.properties)
    return bool(bulkinsert_keys.SORT_COLUMNS.of(config.properties)) or mode in (
        SortMode.GLOBAL_SORT,
        SortMode.PARTITION_SORT,
        SortMode.PARTITION_PATH_REPARTITION_AND_SORT,
    )


def takes_any_order(config: WriteConfig) -> bool:
    """Whether each task writes its records as they come, so that nothing is sorted, shuffled or combined."""
    mode, columns = bulkinsert_keys.SORT_MODE.of(config.properties), bulkinsert_keys.SORT_COLUMNS.of(config.properties)
    is_plain = mode is SortMode.NONE or (mode is SortMode.PARTITION_PATH_REPARTITION and not config.key_spec.parts)
    return is_plain and not columns and not config.combine


def _at_most(rows: DataFrame, tasks: int) -> DataFrame:
    return rows.coalesce(tasks) if tasks else rows
