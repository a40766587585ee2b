"""Views for the tables of a metastore, which no Spark 4 session can read by name."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.hive.register import synced_tables
from spark_jobs.query.read import QUERY_TYPE, read


def register_tables(
    spark: SparkSession,
    metastore_uri: str,
    database: str = "default",
    *,
    lake: Lake = LAKE,
    storage_options: Mapping[str, str] | None = None,
) -> list[str]:
    """A temporary view for each Hudi table of a database, as the table stands now; the names of the views.

    :param storage_options: by which the stores of the tables are reached, as those of ``HudiTable.open``.
    :raises StorageError: no metastore answers, or a table's location is gone.
    """
    names = []
    for table in synced_tables(metastore_uri, database):
        kind = "read_optimized" if table.read_optimized else "snapshot"
        frame = read(spark, table.location, lake=lake, storage_options=storage_options, **{QUERY_TYPE: kind})
        frame.select(*[f"`{column.name}`" for column in table.columns]).createOrReplaceTempView(table.name)
        names.append(table.name)
    return names
