"""Fetch the Hadoop that the tests run on: its clusters in one process, of HDFS (MiniDFSCluster) and of YARN
(MiniYARNCluster), as jars from Maven Central by Spark itself.

They live in ``$PYHUDI_HADOOP_ENV`` (default ``.cache/hadoop`` below the repository's root); running it again is quick.
Progress goes to stderr; the last line on stdout is a JSON object ``{"jars": [jars]}``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pyspark

sys.path.insert(0, str(Path(__file__).resolve().parent))

from real_hudi_env import exclusive, folder_of, java, print_made, resolve

VARIABLE = "PYHUDI_HADOOP_ENV"
SPARK_HOME = Path(pyspark.__file__).parent
VERSION = "3.4.2"
PACKAGES = (
    *(f"org.apache.hadoop:hadoop-client-{part}:{VERSION}" for part in ("minicluster", "runtime", "api")),
    # what YARN needs beside them, and they don't name
    "ch.qos.reload4j:reload4j:1.2.26",
    "javax.xml.bind:jaxb-api:2.3.1",
    "org.bouncycastle:bcpkix-jdk18on:1.78.1",
    "org.glassfish.jaxb:jaxb-runtime:2.3.9",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HadoopJars:
    """Whole paths."""

    jars: tuple[str, ...]


def directory() -> Path:
    """Where the jars are, or will be."""
    return folder_of(VARIABLE, "hadoop")


def prepare() -> HadoopJars:
    """The jars, fetched where they are not there.

    :raises SetupError: there is no Java, or Spark could not fetch them.
    """
    java()
    with exclusive(directory()):
        found = _recorded()
        if found is not None:
            return found
        print("Hadoop: its small clusters of HDFS and YARN (100 MB)", file=sys.stderr, flush=True)
        resolve(PACKAGES, directory(), directory() / "ivy.log", SPARK_HOME, sys.executable)
        result = HadoopJars(jars=tuple(map(str, sorted((directory() / "jars").glob("*.jar")))))
        _record().write_text(json.dumps({"wanted": list(PACKAGES), **asdict(result)}, indent=2) + "\n")
    return result


def _record() -> Path:
    return directory() / "jars.json"


def _recorded() -> HadoopJars | None:
    """Those that an earlier run fetched; None where there are none, or others are wanted now."""
    try:
        record = json.loads(_record().read_text())
        found = HadoopJars(jars=tuple(record["jars"]))
    except (FileNotFoundError, ValueError, KeyError):
        return None
    whole = all(Path(jar).exists() for jar in found.jars)
    return found if record.get("wanted") == list(PACKAGES) and whole else None


if __name__ == "__main__":
    sys.exit(print_made(prepare, directory(), VARIABLE))
