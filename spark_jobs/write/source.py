"""The source of an ingest as a DataFrame, with one-line errors for what Spark says at length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.core.config.schema_keys import SANITIZE_NAMES
from spark_jobs.core.errors import ConfigError, HudiError, StorageError
from spark_jobs.core.storage import locate
from spark_jobs.engine.failure import failure_of
from spark_jobs.options.choices import SourceReader
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.choose import parquet_source, same_keys_without_spark
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.source import ParquetSource
from spark_jobs.write.schema import source_schema

_REBASE = "spark.sql.parquet.datetimeRebaseModeInRead"
_LENIENT = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")


def read_source(spark: SparkSession, source_format: str, paths: Sequence[str], options: Mapping[str, str]) -> DataFrame:
    """
    :raises StorageError: a path is missing or unreadable.
    :raises ConfigError: no paths, or a format that Spark does not know.
    """
    if not paths:
        raise ConfigError("no source is given", todo="give --source")
    try:
        return spark.read.format(source_format).options(**options).load(list(paths))
    except (PySparkException, Py4JError) as error:
        condition = (error.getCondition() if isinstance(error, PySparkException) else None) or ""
        shown = ", ".join(paths)
        if "PATH_NOT_FOUND" in condition:
            raise StorageError(f"source {shown} does not exist", todo="check --source", source=shown) from error
        if "DATA_SOURCE_NOT_FOUND" in (condition or str(error)):
            raise ConfigError(
                f"--source-format {source_format} is not known to Spark", todo="check its name, or add its package"
            ) from error
        if "UNABLE_TO_INFER_SCHEMA" in condition:
            raise StorageError(
                f"source {shown} holds no {source_format} files with a schema", todo="check --source", source=shown
            ) from error
        why = failure_of(error).message
        raise StorageError(f"source {shown} can't be read ({why})", todo="check --source", source=shown) from error


def files_for_tasks(source: DataFrame, options: IngestOptions) -> ParquetSource | str | None:
    """The files of a source that tasks may read themselves, or why Spark has to; None where nobody would ask.

    :param source: what Spark reads by the options of an ingest, unchanged.
    """
    if (options.source_format or "parquet") != "parquet":
        return None
    if options.source_reader is SourceReader.SPARK:
        return "spark, as --source-reader asks"
    if options.source_options:
        return "spark, because of --source-option"
    if _overlap(options.source):
        return "spark, because a file may be in several of --source"
    if str(source.sparkSession.conf.get(_REBASE)).upper() == "LEGACY":
        return f"spark, because of {_REBASE}"
    if any(str(source.sparkSession.conf.get(name, "false")).lower() == "true" for name in _LENIENT):
        return "spark, because of " + " or ".join(_LENIENT)
    if SANITIZE_NAMES.of(dict(options.hoodie_properties())):
        return f"spark, because of {SANITIZE_NAMES.name}"
    found = parquet_source(source_schema(source), source.inputFiles())
    return f"spark: {found}" if isinstance(found, str) else found


def _overlap(paths: Sequence[str]) -> bool:
    """Whether Spark might read a file twice, which its list of files does not tell."""
    if len(paths) < 2:
        return False
    folders = sorted(f"{path.rstrip('/')}/" for path in paths)
    return any(set("*?[{") & set(path) for path in paths) or any(
        later.startswith(earlier) for earlier, later in pairwise(folders)
    )


def keyed_source(files: ParquetSource | str | None, config: WriteConfig) -> KeyedSource | str | None:
    """The same with its keys, or why Spark has to make them."""
    if not isinstance(files, ParquetSource):
        return files
    if not same_keys_without_spark(config.key_spec, files.schema, virtual=not config.populate_meta_fields):
        return "spark: a key or partition column holds floating-point numbers, or times in the zone of the machine"
    return KeyedSource(source=files, spec=config.key_spec)


def source_size(source: DataFrame) -> tuple[int, int]:
    """Number and bytes of the files behind a source, of those that this process can look at."""
    sizes = []
    for url in source.inputFiles():
        try:
            storage, path = locate(url)
            status = storage.stat(path)
        except HudiError:
            continue
        if status is not None:
            sizes.append(status.size)
    return len(sizes), sum(sizes)
