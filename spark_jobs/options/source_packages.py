"""Which Maven package a source's format needs that Spark does not bring along."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

SCALA = "2.13"
"""Of every Spark 4."""
_ARTIFACTS = {"avro": "spark-avro", "kafka": "spark-sql-kafka-0-10"}


def spark_version() -> str | None:
    """That of the installed PySpark; None without one."""
    for distribution in ("pyspark", "pyspark-client"):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return None


def packages_for(source_format: str | None, spark: str | None = None) -> tuple[str, ...]:
    """Each ``group:artifact:version`` that a format needs.

    :param spark: Spark's version; that of the installed PySpark if not given.
    """
    release = spark or spark_version()
    artifact = _ARTIFACTS.get((source_format or "").lower())
    return (f"org.apache.spark:{artifact}_{SCALA}:{release}",) if artifact and release else ()


def with_packages(given: str | None, needed: Sequence[str], jars: str | None = None) -> str | None:
    """Packages with commas between them, as spark-submit takes them, and those that are needed.

    :param given: what the user asks for. Another version of a package stays as it is, and an empty text says that none
        is to be added.
    :param jars: paths of jars with commas between them; one of the package's own is as good.
    """
    if given == "":
        return given
    names = [one.strip() for one in (given or "").split(",") if one.strip()]
    stems = {_stem(one.split(":")[1]) for one in names if one.count(":") >= 2}
    files = [one.strip().rsplit("/", 1)[-1] for one in (jars or "").split(",")]
    missing = [
        one
        for one in needed
        if (stem := _stem(one.split(":")[1])) not in stems and not any(file.startswith(f"{stem}_") for file in files)
    ]
    return ",".join([*names, *missing]) if missing else given


def _stem(artifact: str) -> str:
    """An artifact's name without its Scala version."""
    return artifact.rpartition("_")[0] or artifact
