"""The source of an ingest as a DataFrame, with one-line errors for what Spark says at length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.core.errors import ConfigError, HudiError, StorageError
from spark_jobs.core.storage import locate
from spark_jobs.engine.failure import failure_of


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
