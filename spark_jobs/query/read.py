"""A table as a DataFrame: Spark's own Parquet scan for slices without logs, merged slices by Arrow beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from urllib.parse import urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from spark_jobs.core.config.keys import metadata as metadata_keys
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.core.read.scan import Scan
from spark_jobs.core.storage import resolve
from spark_jobs.core.storage.confined import refuse_links
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.spark import parquet_files, rows_of_each

QUERY_TYPE = "hoodie.datasource.query.type"
AS_OF = "as.of.instant"
_OPTIONS = frozenset({QUERY_TYPE, AS_OF, metadata_keys.METADATA_ENABLED.name})


def read(
    spark: SparkSession,
    path: str,
    *,
    lake: Lake = LAKE,
    storage_options: Mapping[str, str] | None = None,
    **options: str,
) -> DataFrame:
    """The rows of a table, the five meta columns first.

    :param storage_options: by which a store is reached, as those of ``HudiTable.open``.
    :param options: Hudi's own read options: ``hoodie.datasource.query.type`` (snapshot, the default, or
        read_optimized), ``as.of.instant`` (an instant, inclusive), and ``hoodie.metadata.enable`` (true; false lists
        the storage).
    :raises ConfigError: a query type, or an option, that this function does not have.
    """
    unknown = next((name for name in options if name not in _OPTIONS), None)
    if unknown is not None:
        raise ConfigError(f"{unknown} is no option of a read", todo="give one of " + ", ".join(sorted(_OPTIONS)))
    query = options.get(QUERY_TYPE, "snapshot")
    if query not in ("snapshot", "read_optimized"):
        raise ConfigError(f"{QUERY_TYPE}={query} is not valid here", todo="give snapshot or read_optimized")
    lake = lake.reached_by(storage_options)
    table = HudiTable.open(path, lake=lake, lists_storage=not metadata_keys.METADATA_ENABLED.of(options))
    scan = table.scan(query=query, as_of=options.get(AS_OF))
    schema = from_arrow_schema(scan.schema, prefer_timestamp_ntz=True)
    slices = scan.slices()
    bare = scan.read_by_name(slices) if _reaches(table) else []
    plain = {(one.partition, one.file_id) for one in bare}
    merged = [one for one in slices if (one.partition, one.file_id) not in plain]
    parts = []
    if bare:
        parts.append(_parquet(spark, scan, bare, schema))
    if merged:
        parts.append(rows_of_each(spark, merged, scan.reader().read, scan.schema))
    return reduce(DataFrame.union, parts) if parts else spark.createDataFrame([], schema)


def _reaches(table: HudiTable) -> bool:
    """Whether Spark opens the table's files itself: stores of objects it knows by connectors of its own, if any."""
    return urlsplit(table.url).scheme in ("", "file")


def _parquet(spark: SparkSession, scan: Scan, slices: list[FileSlice], schema: StructType) -> DataFrame:
    paths = [resolve(scan.base_path, one.base_file.relative_path) for one in slices if one.base_file is not None]
    refuse_links(scan.storage, paths)
    return parquet_files(spark, paths, schema)
