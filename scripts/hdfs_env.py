"""Fetch the HDFS that the tests run on: Hadoop's cluster in one process (MiniDFSCluster), as jars from Maven Central by
Spark itself.

They live in ``$PYHUDI_HDFS_ENV`` (default ``.cache/hdfs`` below the repository's root); running it again is quick.
Progress goes to stderr; the last line on stdout is a JSON object ``{"jars": [jars]}``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import pyspark

sys.path.insert(0, str(Path(__file__).resolve().parent))

from real_hudi_env import JVM_OPTIONS, ROOT, exclusive, java, print_made, run_logged

VARIABLE = "PYHUDI_HDFS_ENV"
SPARK_HOME = Path(pyspark.__file__).parent
VERSION = "3.4.2"
PACKAGES = tuple(f"org.apache.hadoop:hadoop-client-{part}:{VERSION}" for part in ("minicluster", "runtime", "api"))


@dataclass(frozen=True, slots=True, kw_only=True)
class HdfsJars:
    """Whole paths."""

    jars: tuple[str, ...]


def directory() -> Path:
    """Where the jars are, or will be."""
    given = os.environ.get(VARIABLE)
    return Path(given).expanduser().resolve() if given else ROOT / ".cache" / "hdfs"


def prepare() -> HdfsJars:
    """The jars, fetched where they are not there.

    :raises SetupError: there is no Java, or Spark could not fetch them.
    """
    java()
    with exclusive(directory()):
        found = _recorded()
        if found is not None:
            return found
        print("HDFS: Hadoop's MiniDFSCluster (90 MB)", file=sys.stderr, flush=True)
        _fetch()
        result = HdfsJars(jars=tuple(map(str, sorted((directory() / "jars").glob("*.jar")))))
        _record().write_text(json.dumps({"wanted": list(PACKAGES), **asdict(result)}, indent=2) + "\n")
    return result


def _record() -> Path:
    return directory() / "jars.json"


def _recorded() -> HdfsJars | None:
    """Those that an earlier run fetched; None where there are none, or others are wanted now."""
    try:
        record = json.loads(_record().read_text())
        found = HdfsJars(jars=tuple(record["jars"]))
    except (FileNotFoundError, ValueError, KeyError):
        return None
    whole = all(Path(jar).exists() for jar in found.jars)
    return found if record.get("wanted") == list(PACKAGES) and whole else None


def _fetch() -> None:
    """Let spark-submit resolve the packages and what they need."""
    with tempfile.TemporaryDirectory() as scratch:
        nothing = Path(scratch) / "nothing.py"
        nothing.write_text("")
        run_logged(
            [
                str(SPARK_HOME / "bin" / "spark-submit"),
                *("--master", "local[1]", "--driver-java-options", JVM_OPTIONS),
                *("--conf", f"spark.jars.ivy={directory()}"),
                *("--packages", ",".join(PACKAGES)),
                str(nothing),
            ],
            directory() / "ivy.log",
            {"SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": sys.executable},
        )


if __name__ == "__main__":
    sys.exit(print_made(prepare, directory(), VARIABLE))
