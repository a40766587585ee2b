"""Options of other programs that end up behind a job's file: spark-submit's own, and those of Hudi's Java tools."""

from __future__ import annotations

_OF_SPARK_SUBMIT = frozenset(
    {
        *("--master", "--deploy-mode", "--conf", "--name", "--class", "--properties-file", "--proxy-user", "--queue"),
        *("--jars", "--packages", "--exclude-packages", "--repositories", "--py-files", "--files", "--archives"),
        *("--driver-memory", "--driver-cores", "--driver-java-options", "--driver-class-path", "--driver-library-path"),
        *("--executor-memory", "--executor-cores", "--total-executor-cores", "--num-executors"),
        *("--principal", "--keytab", "--supervise"),
    }
)
_OF_HUDI = {
    "--spark-master": "give --master to spark-submit, before {job}.py",
    "--spark-memory": "give --executor-memory to spark-submit, before {job}.py",
    "--parallelism": "give --num-executors and --executor-cores to spark-submit, before {job}.py",
    "--source-class": "name the source by --source-format and --source",
    "--source-ordering-field": "give --precombine-field",
    "--schemaprovider-class": "the schema is the source's, or that of --source-schema",
    "--schema-file": "the schema is the table's",
    "--payload-class": "give --hoodie-conf hoodie.datasource.write.payload.class=CLASS",
    "--enable-hive-sync": "give --hoodie-conf hoodie.datasource.hive_sync.enable=true",
    "--enable-sync": "give --hoodie-conf hoodie.datasource.hive_sync.enable=true",
    "--filter-dupes": "give --op insert --hoodie-conf hoodie.datasource.insert.dup.policy=drop",
    "--disable-compaction": "give --hoodie-conf hoodie.compact.inline=false, which is the default",
}
"""Of HoodieStreamer, HoodieCompactor, HoodieClusteringJob and others (``org.apache.hudi.utilities``), with what does
the same here.
"""


def answer_to(job: str, word: str) -> str | None:
    """One line for an option that no job has but another program; None for any other word."""
    if word in _OF_SPARK_SUBMIT:
        return f"{word} is an option of spark-submit: give it before {job}.py, not behind it"
    if word in _OF_HUDI:
        return f"{word} is an option of Hudi's own tools: {_OF_HUDI[word].format(job=job)}"
    return None
