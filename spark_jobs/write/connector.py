"""Whether Spark opens the files of a URL itself: by a file system of Hadoop's on its class path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

JARS = {
    "s3a": "hadoop-aws",
    "s3": "hadoop-aws (for s3a:// URLs)",
    "gs": "gcs-connector",
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "hadoop-azure"),
    "az": "hadoop-azure (for abfs:// URLs)",
}
"""What has the file system of a scheme."""


def unreached(spark: SparkSession, paths: Sequence[str]) -> str | None:
    """The scheme of a path that Spark has no file system for; None where it has one for each."""
    schemes = (urlsplit(path).scheme if "://" in path else "" for path in paths)
    return next((one for one in dict.fromkeys(schemes) if one and not _has_file_system(spark, one)), None)


def _has_file_system(spark: SparkSession, scheme: str) -> bool:
    jvm: Any = spark._jvm
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
    try:
        jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, hadoop)
    except Py4JJavaError:  # none is named, or its class is not there
        return False
    return True
