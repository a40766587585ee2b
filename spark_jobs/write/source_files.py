"""The Parquet files behind the rows of a source, and who reads them: Spark, or its tasks with pyarrow."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.core.errors import ConfigError, HudiError
from spark_jobs.core.lake import Lake
from spark_jobs.engine.spark import rows_of_each, scan_tasks
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.connector import JARS
from spark_jobs.write.direct.choose import parquet_source, why_spark_makes_keys
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.listing import source_files
from spark_jobs.write.direct.source import ParquetSource
from spark_jobs.write.file_source import changes_rows, needs_spark_to_read


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """``parquet`` are the files where they are known; ``why_spark`` says why a write takes the rows of a DataFrame all
    the same, and None that its tasks read the files in place of them.
    """

    parquet: ParquetSource | None
    why_spark: str | None

    def keyed(self, config: WriteConfig) -> KeyedSource | str:
        """The files with the keys of their rows, or why Spark has to give these."""
        if self.parquet is None or self.why_spark is not None:
            return str(self.why_spark)
        why = why_spark_makes_keys(config.key_spec, self.parquet.schema, virtual=not config.populate_meta_fields)
        if why is not None:
            return f"spark: {why}"
        return KeyedSource(source=self.parquet, spec=config.key_spec)

    def counts(self, source: DataFrame, lake: Lake) -> tuple[int, int]:
        """Number and bytes of the files.

        :param source: what was read.
        """
        return source_size(source, lake) if self.parquet is None else self.parquet.counts


def source_size(source: DataFrame, lake: Lake) -> tuple[int, int]:
    """Number and bytes of the files behind a source, of those that this process can look at."""
    sizes = []
    for url in source.inputFiles():
        try:
            place = lake.place(url)
            status = place.storage.stat(place.path)
        except HudiError:
            continue
        if status is not None:
            sizes.append(status.size)
    return len(sizes), sum(sizes)


def read_by_tasks(
    spark: SparkSession, options: IngestOptions, lake: Lake, *, scheme: str
) -> tuple[DataFrame, SourceFiles]:
    """The rows of Parquet files that Spark has no file system for, and these files.

    :param options: effective ones.
    :param scheme: the one that Spark lacks.
    :raises StorageError: a path is missing.
    :raises ConfigError: only Spark's own reader could read them.
    """
    files = _parquet(options, lake)
    if isinstance(files, str):
        raise ConfigError(
            f"source {', '.join(options.source)} needs Spark ({files}), which has no file system for {scheme}:",
            todo=f"give spark-submit its connector ({JARS.get(scheme, 'of that store')}), or plain Parquet files",
        )
    changed = changes_rows(options)
    return _rows(spark, files), SourceFiles(
        parquet=files, why_spark=None if changed is None else f"spark, because of {changed}"
    )


def _parquet(options: IngestOptions, lake: Lake) -> ParquetSource | str:
    source_format = options.source_format or "parquet"
    if source_format != "parquet":
        return f"--source-format {source_format}"
    option = needs_spark_to_read(options)
    if option is not None:
        return option
    urls = source_files(options.source, lake)
    return urls if isinstance(urls, str) else parquet_source(None, urls, lake, most=len(urls))


def _rows(spark: SparkSession, files: ParquetSource) -> DataFrame:
    shares = files.aligned_shares(scan_tasks(spark, files.sizes))
    return rows_of_each(spark, shares, files.read, files.schema)
