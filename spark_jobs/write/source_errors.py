"""What Spark says at length of a source that it can't read, in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.errors import PySparkException

from spark_jobs.core.errors import ConfigError, HudiError, StorageError
from spark_jobs.engine.failure import failure_of
from spark_jobs.options.source_packages import packages_for

_FAILED_FILE = re.compile(r"\[FAILED_READ_FILE[\w.]*\] Encountered error while reading file (.+?)\. +SQLSTATE")


def unreadable_file(error: Exception) -> StorageError | None:
    """The error for one of Spark's that a task met in a file, such as a CSV header of too few columns; None for any
    other.
    """
    failure, file = failure_of(error), _FAILED_FILE.search(str(error))
    if file is None or failure.exit_code != HudiError.exit_code:
        return None
    return StorageError(
        f"file {file[1]} can't be read ({failure.message.rstrip(':')})",
        todo="mend it, or take it out of the source",
        source=file[1],
    )


def reading_error(error: Exception, source_format: str, paths: Sequence[str], spark_version: str) -> HudiError:
    """The error of the source for one of Spark's."""
    condition = (error.getCondition() if isinstance(error, PySparkException) else None) or ""
    text, shown = str(error), ", ".join(paths) or source_format
    if "PATH_NOT_FOUND" in condition:
        return StorageError(f"source {shown} does not exist", todo="check --source", source=shown)
    if "DATA_SOURCE_NOT_FOUND" in (condition or text) or "Failed to find data source" in text:
        needed = ",".join(packages_for(source_format, spark=spark_version))
        todo = f"add --packages {needed} to spark-submit" if needed else "check its name, or add its package"
        return ConfigError(f"--source-format {source_format} is not known to Spark", todo=todo)
    if "UNABLE_TO_INFER_SCHEMA" in condition:
        return StorageError(
            f"source {shown} holds no {source_format} files with a schema", todo="check --source", source=shown
        )
    why = failure_of(error).message
    if "COLUMN_ALREADY_EXISTS" in condition:
        return ConfigError(
            f"source {shown} has two columns whose names differ by case alone ({why})",
            todo="rename one of them, or set spark.sql.caseSensitive=true in the Spark settings",
        )
    if "CHAR_OR_VARCHAR" in condition:
        return ConfigError(f"the schema of source {shown} has a char or varchar ({why})", todo="make it a string")
    if "No suitable driver" in text or (source_format == "jdbc" and "ClassNotFoundException" in text):
        return ConfigError(
            f"the database's driver is not on Spark's class path ({why})",
            todo="add its jar by --packages or --jars of spark-submit, and name its class by --source-option driver=",
        )
    return StorageError(f"source {shown} can't be read ({why})", todo="check --source", source=shown)
