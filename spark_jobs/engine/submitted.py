"""What spark-submit was told of stores of objects and HDFS: Hadoop's settings, by which they are reached here too."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.core.storage.hdfs.names import SCHEME as HDFS_SCHEME
from spark_jobs.core.storage.hdfs.names import is_of_hdfs
from spark_jobs.core.storage.objects.schemes import SCHEMES, is_hadoops
from spark_jobs.engine.streams import started_by_spark_submit


def settings_of_objects(words: Iterable[str]) -> dict[str, str]:
    """Names with their values; none where spark-submit did not start this process, or no word names such a store.

    :param words: the arguments of the job.
    """
    if not started_by_spark_submit():
        return {}
    if not any(f"{scheme}://" in word for word in words for scheme in (*SCHEMES, HDFS_SCHEME)):
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # the Java that is there already
    return {name: value for name, value in SparkConf().getAll() if is_hadoops(name) or is_of_hdfs(name)}
