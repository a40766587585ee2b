"""Which settings are of HDFS: Hadoop's own names, as they stand in its files and in those of Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

SCHEME: Final = "hdfs"
_SPARK: Final = "spark.hadoop."
_PREFIXES: Final = ("dfs.", "hadoop.")
UMASK: Final = "fs.permissions.umask-mode"
DEFAULT_FS: Final = "fs.defaultFS"


def is_of_hdfs(key: str) -> bool:
    """Whether it is one of Hadoop's settings of HDFS; those that the client doesn't know change nothing, as in Hadoop's
    files.
    """
    name = key.removeprefix(_SPARK)
    return name.startswith(_PREFIXES) or name in (DEFAULT_FS, UMASK)


def settings_of(sources: Sequence[Mapping[str, str]]) -> tuple[tuple[str, str], ...]:
    """Those of HDFS among settings of any storage, by Hadoop's names and in order, each mapping over those before."""
    found: dict[str, str] = {}
    for source in sources:
        found |= {key.removeprefix(_SPARK): value.strip() for key, value in source.items() if is_of_hdfs(key)}
    return tuple(sorted(found.items()))
